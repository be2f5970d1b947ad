"""Result files, the store of finished cells, and what is known of earlier fits."""

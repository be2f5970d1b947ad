"""Result files, the store of finished cells, and records of earlier fits."""

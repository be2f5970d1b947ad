"""Deep networks for images: architectures, data, and training runs that feed posteriors."""

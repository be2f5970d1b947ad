"""Parts of figures that several experiments share."""

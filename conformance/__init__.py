"""Comparison of what packages draw when they sample from SWAG, with the formula of the paper."""

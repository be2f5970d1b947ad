"""Reporting: figures, tables and the HTML report."""

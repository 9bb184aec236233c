"""Readers of the outputs of other tools, a module for each tool."""

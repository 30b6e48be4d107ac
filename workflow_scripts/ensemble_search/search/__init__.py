"""The search loop and its journal."""

"""Histories of what clients asked and were answered, and checkers that find what such a history must not contain."""

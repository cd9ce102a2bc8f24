"""Text as every part of the mesh reads it: where sentences stand, one spelling for a page, HTML as plain text."""

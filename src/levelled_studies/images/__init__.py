"""The image experiments of the paper (sections 6 and 7, appendix C.2)."""

"""The linear-regression experiments of the paper (sections 6 and 7, appendix C.1), and ours."""

"""What is compared: one module for each library, and the process that runs it.

A worker may run in an environment that has another library and no forgenb, where this folder is a package of its own.
So these modules import NumPy, each other (relatively) and their own library; only those whose
name says so import forgenb, and `scaled` and `limits`.
"""

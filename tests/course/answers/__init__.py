"""Answers to the exercises, right ones and wrong ones, a file a chapter; students do not get them."""

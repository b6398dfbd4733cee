"""The usual mistakes, a file for each family; `forgenb.gradcheck.diagnosis.MISTAKES` puts them in order."""

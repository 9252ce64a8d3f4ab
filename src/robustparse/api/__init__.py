"""What commands and notebooks run: models and sentences in, attacks and scores out."""

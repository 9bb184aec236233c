"""Drawing for a campaign: the loss that decides, rounds of predictors, probabilities and draws."""

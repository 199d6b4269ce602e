"""The account page: users log in, and look after their account, without a front end."""

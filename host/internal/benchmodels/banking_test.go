package benchmodels

import "fmt"

// bankingOperations are the tools of a bank's service desk.
var bankingOperations = []operation{
	{"get_customer(customer_id!): Returns a customer with address and membership.", "name", false, look("customers", "customer_id")},
	{"list_accounts(customer_id!): Lists the accounts of a customer.", "results", false, pick("accounts", "customer_id")},
	{"get_account(account_id!): Returns an account with its balance.", "balance", false, look("accounts", "account_id")},
	{"get_transaction(transaction_id!): Returns a transaction with merchant, amount and status.", "status", false, look("transactions", "transaction_id")},
	{"list_transactions(customer_id!): Lists the transactions of a customer.", "results", false, pick("transactions", "customer_id")},
	{"get_card(card_id!): Returns a card with its limits.", "status", false, look("cards", "card_id")},
	{"search_handbook(topic!): Finds the rules of the bank about a topic.", "rule", false, fixed(document{"rule": "A contested payment is credited at once and decided within ten days.", "source": "handbook, chapter 7", "valid_from": "2026-01-01"})},
	{"exchange_rate(currency!): Tells what a currency is worth.", "rate", false, fixed(document{"rate": 0.94, "fee": 1.5})},
	{"dispute_transaction(transaction_id! reason!): Contests a payment.", "status", true, set("transactions", "transaction_id", "disputed", "reason")},
	{"categorize_transaction(transaction_id! category!): Files a payment under a category.", "category", true, set("transactions", "transaction_id", "", "category")},
	{"transfer(from! to! amount!:number): Moves money between two accounts of the bank.", "id", true, add("transfers", "M")},
	{"freeze_card(card_id! reason!): Blocks a card.", "status", true, set("cards", "card_id", "frozen", "reason")},
	{"set_card_limit(card_id! limit!:int): Changes how much a card can pay a day.", "limit", true, set("cards", "card_id", "", "limit")},
	{"open_account(customer_id! kind!): Opens an account.", "id", true, add("accounts", "NA")},
	{"close_account(account_id!): Closes an account.", "status", true, set("accounts", "account_id", "closed")},
	{"file_report(customer_id! summary!): Files a report about a talk.", "id", true, add("reports", "R")},
	{"hand_over(customer_id! summary!): Hands the talk over to a human agent.", "id", true, add("handovers", "H")},
}

// bankingPlan has 97 tasks of 9.8 calls in the mean.
var bankingPlan = plan{3: 4, 4: 6, 5: 6, 6: 10, 7: 11, 8: 11, 9: 10, 10: 8, 11: 6, 12: 5, 14: 8, 16: 4, 18: 3, 21: 2, 25: 1, 30: 1, 37: 1}

// banking makes a bank: 200 customers with accounts, cards and transactions.
func banking() domain {
	d, db := newDice("banking"), database{"customers": {}, "accounts": {}, "cards": {}, "transactions": {}, "reports": {}, "transfers": {}, "handovers": {}}
	const customers = 200
	for i, count := range perCustomer(bankingPlan, customers, d) {
		customer, number := customerID(i), fmt.Sprintf("%04d", i+1)
		db["customers"][customer] = person(d, customer)
		db["accounts"]["A"+number] = document{"id": "A" + number, "customer_id": customer, "kind": choose(d, []string{"current", "savings"}), "balance": float64(100 * d.roll(400)), "status": "open"}
		db["cards"]["K"+number] = document{"id": "K" + number, "customer_id": customer, "account_id": "A" + number, "limit": 1000.0, "status": "active"}
		for range count + d.roll(3) {
			id := fmt.Sprintf("T%06d", len(db["transactions"])+1)
			db["transactions"][id] = transaction(d, id, customer, "A"+number)
		}
	}
	s := story{
		objects: "transactions",
		text:    "Hello, I am %s. I do not recognise some payments. Please go through %d of them, contest or file each, and report back.",
		first:   func(customer string) call { return call{"get_customer", document{"customer_id": customer}} },
		read:    func(_ *dice, o document) call { return call{"get_transaction", document{"transaction_id": o["id"]}} },
		write: func(d *dice, o document) call {
			if d.roll(2) == 0 {
				return call{"dispute_transaction", document{"transaction_id": o["id"], "reason": "not made by the customer"}}
			}
			return call{"categorize_transaction", document{"transaction_id": o["id"], "category": choose(d, []string{"travel", "household", "leisure", "work"})}}
		},
		last: func(_ *dice, customer string) call {
			return call{"file_report", document{"customer_id": customer, "summary": "went through the payments that the customer asked about"}}
		},
	}
	return domain{"banking", bankingOperations, db, s.makeTasks("banking", bankingPlan, db)}
}

func transaction(d *dice, id, customer, account string) document {
	return document{
		"id": id, "customer_id": customer, "account_id": account, "amount": float64(100+d.roll(30000)) / 100, "currency": choose(d, []string{"EUR", "CHF", "SEK"}),
		"merchant":  document{"name": choose(d, lastNames) + " " + choose(d, []string{"Market", "Travel", "Garage", "Books"}), "city": choose(d, towns), "code": fmt.Sprint(1000 + d.roll(9000))},
		"booked_at": fmt.Sprintf("2026-05-%02dT%02d:%02d:00Z", 1+d.roll(28), d.roll(24), d.roll(60)), "method": choose(d, []string{"card", "transfer", "direct debit"}), "status": "booked",
	}
}

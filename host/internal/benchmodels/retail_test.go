package benchmodels

import "fmt"

// retailOperations are the tools of a shop's service desk.
var retailOperations = []operation{
	{"find_customer_by_email(email!): Finds a customer by the address of email.", "results", false, pick("customers", "email")},
	{"get_customer(customer_id!): Returns a customer with address and means of payment.", "name", false, look("customers", "customer_id")},
	{"get_order(order_id!): Returns an order with its items, address and payments.", "status", false, look("orders", "order_id")},
	{"list_orders(customer_id!): Lists the orders of a customer.", "results", false, pick("orders", "customer_id")},
	{"get_product(product_id!): Returns a product with all variants, prices and stock.", "variants", false, look("products", "product_id")},
	{"list_products(kind!): Lists the products of a kind.", "results", false, pick("products", "kind")},
	{"list_kinds(): Lists the kinds of products.", "kinds", false, fixed(document{"kinds": []any{"lamp", "chair", "kettle", "jacket", "shoe"}})},
	{"return_policy(): Says what may be returned, and until when.", "days", false, fixed(document{"days": 30.0, "condition": "unused", "refund": "to the original means of payment"})},
	{"cancel_order(order_id! reason!): Cancels an order that was not sent yet.", "status", true, set("orders", "order_id", "cancelled", "reason")},
	{"change_items(order_id! items[]! payment_id!): Exchanges items of an order that was not sent yet.", "status", true, set("orders", "order_id", "pending, changed", "new_items")},
	{"change_order_address(order_id! street! city! postal_code!): Sends an order to another address.", "status", true, set("orders", "order_id", "pending, changed", "street", "city", "postal_code")},
	{"change_payment(order_id! payment_id!): Pays an order by other means.", "payment_id", true, set("orders", "order_id", "", "payment_id")},
	{"change_customer_address(customer_id! street! city! postal_code!): Changes the usual address of a customer.", "id", true, set("customers", "customer_id", "", "street", "city", "postal_code")},
	{"return_items(order_id! items[]! payment_id!): Takes items of an order back that has arrived.", "status", true, set("orders", "order_id", "return requested", "items_returned")},
	{"exchange_items(order_id! items[]! new_items[]! payment_id!): Exchanges items of an order that has arrived.", "status", true, set("orders", "order_id", "exchange requested", "new_items")},
	{"hand_over(customer_id! summary!): Hands the talk over to a human agent.", "id", true, add("handovers", "H")},
}

// retailPlan has 114 tasks of 4.8 calls in the mean.
var retailPlan = plan{1: 6, 2: 14, 3: 18, 4: 20, 5: 18, 6: 14, 7: 10, 8: 5, 9: 4, 10: 2, 11: 1, 12: 1, 13: 1}

// retail makes a shop: 500 customers, their orders and 50 products.
func retail() domain {
	d, db := newDice("retail"), database{"customers": {}, "orders": {}, "products": {}, "handovers": {}}
	for i := range 50 {
		id := fmt.Sprintf("P%03d", i)
		db["products"][id] = product(d, id)
	}
	const customers = 500
	for i, count := range perCustomer(retailPlan, customers, d) {
		db["customers"][customerID(i)] = person(d, customerID(i))
		for range count {
			id := fmt.Sprintf("W%05d", len(db["orders"])+1)
			db["orders"][id] = order(d, id, customerID(i))
		}
	}
	s := story{
		objects: "orders",
		text:    "This is %s. I want to change %d of my orders. Look at each of them first, and then tell me how they stand.",
		first:   func(customer string) call { return call{"get_customer", document{"customer_id": customer}} },
		read:    func(_ *dice, o document) call { return call{"get_order", document{"order_id": o["id"]}} },
		write: func(d *dice, o document) call {
			switch d.roll(4) {
			case 0:
				return call{"cancel_order", document{"order_id": o["id"], "reason": "ordered by mistake"}}
			case 1:
				return call{"change_order_address", document{"order_id": o["id"], "street": fmt.Sprintf("Harbour Road %d", 1+d.roll(60)), "city": choose(d, towns), "postal_code": fmt.Sprint(10000 + d.roll(80000))}}
			case 2:
				return call{"change_payment", document{"order_id": o["id"], "payment_id": fmt.Sprintf("card_%04d", d.roll(10000))}}
			}
			return call{"return_items", document{"order_id": o["id"], "items": []any{fmt.Sprintf("I%05d", d.roll(100000))}, "payment_id": o["payment_id"]}}
		},
		last: func(d *dice, customer string) call {
			return call{"change_customer_address", document{"customer_id": customer, "street": fmt.Sprintf("Mill Lane %d", 1+d.roll(60)), "city": choose(d, towns), "postal_code": fmt.Sprint(10000 + d.roll(80000))}}
		},
	}
	return domain{"retail", retailOperations, db, s.makeTasks("retail", retailPlan, db)}
}

func product(d *dice, id string) document {
	variants := []any{}
	for range 4 + d.roll(8) {
		variants = append(variants, document{
			"id": fmt.Sprintf("I%05d", d.roll(100000)), "color": choose(d, []string{"black", "white", "red", "green", "blue"}),
			"size": choose(d, []string{"small", "medium", "large"}), "price": float64(1000+d.roll(20000)) / 100, "stock": float64(d.roll(40)),
		})
	}
	return document{"id": id, "name": choose(d, lastNames) + " " + id, "kind": choose(d, []string{"lamp", "chair", "kettle", "jacket", "shoe"}), "variants": variants}
}

func order(d *dice, id, customer string) document {
	items := []any{}
	for range 1 + d.roll(5) {
		items = append(items, document{
			"id": fmt.Sprintf("I%05d", d.roll(100000)), "product_id": fmt.Sprintf("P%03d", d.roll(50)), "name": choose(d, lastNames) + " " + choose(d, []string{"lamp", "chair", "kettle", "jacket", "shoe"}),
			"price": float64(1000+d.roll(20000)) / 100, "options": document{"color": choose(d, []string{"black", "white", "red"}), "size": choose(d, []string{"small", "medium", "large"})},
		})
	}
	return document{
		"id": id, "customer_id": customer, "items": items, "street": fmt.Sprintf("%s Street %d", choose(d, lastNames), 1+d.roll(90)), "city": choose(d, towns),
		"postal_code": fmt.Sprint(10000 + d.roll(80000)), "payment_id": fmt.Sprintf("card_%04d", d.roll(10000)), "status": choose(d, []string{"pending", "sent", "delivered"}),
		"history": []any{document{"at": fmt.Sprintf("2026-04-%02d", 1+d.roll(30)), "event": "paid"}, document{"at": fmt.Sprintf("2026-05-%02d", 1+d.roll(28)), "event": "packed"}},
		"carrier": document{"name": choose(d, []string{"North Parcel", "River Post"}), "tracking_number": fmt.Sprintf("QT%08d", d.roll(100000000))},
	}
}

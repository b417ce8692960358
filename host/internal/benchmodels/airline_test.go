package benchmodels

import "fmt"

// airlineOperations are the tools of an airline's service desk.
var airlineOperations = []operation{
	{"get_customer(customer_id!): Returns a customer with address, membership and means of payment.", "membership", false, look("customers", "customer_id")},
	{"get_booking(booking_id!): Returns a booking with its flights, passengers and payments.", "status", false, look("bookings", "booking_id")},
	{"list_bookings(customer_id!): Lists the bookings of a customer.", "results", false, pick("bookings", "customer_id")},
	{"search_direct_flights(origin! destination! date!): Finds direct flights between two airports on a day.", "results", false, pick("flights", "origin", "destination", "date")},
	{"search_flights_from(origin! date!): Finds all flights that leave an airport on a day.", "results", false, pick("flights", "origin", "date")},
	{"get_flight(flight_id!): Returns a flight with its status, seats and prices.", "status", false, look("flights", "flight_id")},
	{"list_airports(): Lists the airports that are served.", "results", false, pick("airports")},
	{"fare_rules(cabin!): Says what may be changed or given back in a cabin.", "changes", false, fixed(document{"changes": "free until departure", "refund": "within 24 hours", "bags": 1.0})},
	{"book_flight(customer_id! flight_id! cabin! passengers[]! payment_id!): Books a flight for passengers and charges for it.", "id", true, add("bookings", "NB")},
	{"change_flight(booking_id! flight_id! cabin!): Moves a booking to another flight or cabin.", "status", true, set("bookings", "booking_id", "changed", "flight_id", "cabin")},
	{"change_passengers(booking_id! passengers[]!): Changes the names of the passengers of a booking.", "status", true, set("bookings", "booking_id", "changed", "passengers")},
	{"change_bags(booking_id! bags!:int payment_id!): Changes the number of checked bags of a booking.", "bags", true, set("bookings", "booking_id", "changed", "bags")},
	{"cancel_booking(booking_id! reason!): Cancels a booking and gives the money back.", "status", true, set("bookings", "booking_id", "cancelled", "reason")},
	{"send_voucher(customer_id! amount!:int reason!): Gives a customer a voucher.", "id", true, add("vouchers", "V")},
	{"hand_over(customer_id! summary!): Hands the talk over to a human agent.", "id", true, add("handovers", "H")},
}

// airlinePlan has 50 tasks of 2.8 calls in the mean.
var airlinePlan = plan{1: 18, 2: 15, 3: 6, 4: 4, 5: 3, 7: 2, 9: 1, 19: 1}

var airports = []string{"BSL", "BGO", "BIO", "BOD", "GRZ", "KRK", "LBA", "LYS", "MMX", "OPO", "RIX", "SOF", "TRN", "VNO"}

// airline makes an airline: 500 customers, their bookings and 300 flights.
func airline() domain {
	d, db := newDice("airline"), database{"customers": {}, "bookings": {}, "flights": {}, "airports": {}, "vouchers": {}, "handovers": {}}
	for i, code := range airports {
		db["airports"][code] = document{"id": code, "city": towns[i%len(towns)]}
	}
	for i := range 300 {
		db["flights"][flightID(i)] = flight(d, i)
	}
	const customers = 500
	for i, count := range perCustomer(airlinePlan, customers, d) {
		db["customers"][customerID(i)] = person(d, customerID(i))
		for range count {
			id := fmt.Sprintf("B%05d", len(db["bookings"])+1)
			db["bookings"][id] = booking(d, id, customerID(i), db)
		}
	}
	s := story{
		objects: "bookings",
		text:    "I am customer %s. My plans have changed, please take care of %d of my bookings and tell me what became of each.",
		first:   func(customer string) call { return call{"get_customer", document{"customer_id": customer}} },
		read:    func(_ *dice, b document) call { return call{"get_booking", document{"booking_id": b["id"]}} },
		write: func(d *dice, b document) call {
			switch d.roll(3) {
			case 0:
				return call{"cancel_booking", document{"booking_id": b["id"], "reason": "change of plan"}}
			case 1:
				return call{"change_bags", document{"booking_id": b["id"], "bags": float64(1 + d.roll(3)), "payment_id": b["payment_id"]}}
			}
			return call{"change_flight", document{"booking_id": b["id"], "flight_id": flightID(d.roll(300)), "cabin": "economy"}}
		},
		last: func(d *dice, customer string) call {
			return call{"send_voucher", document{"customer_id": customer, "amount": float64(50 * (1 + d.roll(4))), "reason": "delayed flight"}}
		},
	}
	return domain{"airline", airlineOperations, db, s.makeTasks("airline", airlinePlan, db)}
}

func flightID(i int) string { return fmt.Sprintf("QN%04d", i+100) }

func flight(d *dice, i int) document {
	from := d.roll(len(airports))
	return document{
		"id": flightID(i), "origin": airports[from], "destination": airports[(from+1+d.roll(len(airports)-1))%len(airports)],
		"date": fmt.Sprintf("2026-05-%02d", 1+d.roll(28)), "departs": fmt.Sprintf("%02d:%02d", 5+d.roll(17), 5*d.roll(12)), "minutes": float64(50 + 5*d.roll(40)),
		"status": choose(d, []string{"available", "on time", "delayed", "cancelled"}),
		"seats":  document{"economy": float64(d.roll(60)), "business": float64(d.roll(12))},
		"prices": document{"economy": float64(60 + d.roll(200)), "business": float64(250 + d.roll(500))},
	}
}

func booking(d *dice, id, customer string, db database) document {
	f := db["flights"][flightID(d.roll(300))]
	passengers := []any{}
	for range 1 + d.roll(3) {
		passengers = append(passengers, document{"first_name": choose(d, firstNames), "last_name": choose(d, lastNames), "birth_date": fmt.Sprintf("%d-%02d-%02d", 1950+d.roll(60), 1+d.roll(12), 1+d.roll(28))})
	}
	return document{
		"id": id, "customer_id": customer, "flight_id": f["id"], "origin": f["origin"], "destination": f["destination"], "date": f["date"],
		"cabin": choose(d, []string{"economy", "business"}), "passengers": passengers, "bags": float64(d.roll(3)), "insurance": d.roll(2) == 0,
		"payment_id": fmt.Sprintf("card_%04d", d.roll(10000)), "price": float64(80 + d.roll(700)), "created": fmt.Sprintf("2026-04-%02dT%02d:15:00Z", 1+d.roll(30), d.roll(24)), "status": "confirmed",
	}
}

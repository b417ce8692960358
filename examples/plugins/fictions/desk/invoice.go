package desk

import (
	"context"
	"database/sql"
	"fmt"
	"math"
)

// Invoice is money owed.
type Invoice struct {
	ID      string  `json:"id"`
	Story   string  `json:"story" jsonschema:"story id"`
	Title   string  `json:"title" jsonschema:"title of the story"`
	Payee   string  `json:"payee"`
	Amount  float64 `json:"amount" jsonschema:"in euros"`
	Due     string  `json:"due"`
	Overdue bool    `json:"overdue"`
}

// Unpaid is what is owed above an amount, the largest invoice first.
type Unpaid struct {
	Invoices []Invoice `json:"invoices"`
	Total    float64   `json:"total" jsonschema:"sum of the invoices in euros"`
}

// UnpaidOver returns the unpaid invoices of more than an amount of euros.
func (d *Desk) UnpaidOver(ctx context.Context, amount float64) (Unpaid, error) {
	if math.IsNaN(amount) || amount < 0 || amount > 1e9 {
		return Unpaid{}, &Error{Code: CodeInvalidField, Message: "The amount must be from 0 to 1000000000 euros."}
	}
	out := Unpaid{Invoices: []Invoice{}}
	err := d.db.Read(ctx, func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, `select i.id, i.story, s.title, i.payee, i.cents, i.due, i.due < ?
			from invoices i join stories s on s.id = i.story
			where i.paid = '' and i.cents > ? order by i.cents desc, i.id`, d.today(), int64(math.Round(amount*100)))
		if err != nil {
			return fmt.Errorf("read invoices: %w", err)
		}
		defer rows.Close()
		var sum int64 // cents: sums of euros would drift
		for rows.Next() {
			var i Invoice
			var cents int64
			if err := rows.Scan(&i.ID, &i.Story, &i.Title, &i.Payee, &cents, &i.Due, &i.Overdue); err != nil {
				return fmt.Errorf("read invoices: %w", err)
			}
			i.Amount, sum = euros(cents), sum+cents
			out.Invoices = append(out.Invoices, i)
		}
		out.Total = euros(sum)
		return rows.Err()
	})
	return out, err
}

func euros(cents int64) float64 { return float64(cents) / 100 }

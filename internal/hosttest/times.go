package hosttest

import (
	"reflect"
	"time"
)

// Tenth returns a package's struct of times with a tenth of each duration, for tests that
// wait for them.
func Tenth[Times any](times Times) Times {
	v := reflect.ValueOf(&times).Elem()
	for i := range v.NumField() {
		f := v.Field(i)
		d := (*time.Duration)(f.Addr().UnsafePointer()) // the fields may be unexported
		if f.Type() != reflect.TypeFor[time.Duration]() {
			panic(v.Type().String() + " has a field that is not a duration")
		}
		*d /= 10
	}
	return times
}

package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
)

// eachField calls fn for every field of a section, at any depth: its declaration, its value, and the struct
// that holds it. Fields that are not in the file are left out.
func eachField(v reflect.Value, fn func(f reflect.StructField, value, of reflect.Value)) {
	switch v.Kind() {
	case reflect.Slice:
		for i := range v.Len() {
			eachField(v.Index(i), fn)
		}
	case reflect.Struct:
		for f, value := range v.Fields() {
			if f.Tag.Get("yaml") != "-" {
				fn(f, value, v)
				eachField(value, fn)
			}
		}
	}
}

// setDefaults sets the fields of a section that have their zero value and a tag default. Fields whose zero
// value means something are pointers.
func setDefaults[T any](section *T) {
	eachField(reflect.ValueOf(section).Elem(), func(f reflect.StructField, v, _ reflect.Value) {
		text, ok := f.Tag.Lookup("default")
		if !ok || !v.IsZero() {
			return
		}
		if v.Kind() == reflect.Pointer {
			v.Set(reflect.New(v.Type().Elem()))
			v = v.Elem()
		}
		if v.Kind() == reflect.String {
			v.SetString(text)
		} else if err := json.Unmarshal([]byte(text), v.Addr().Interface()); err != nil {
			panic(fmt.Sprintf("default of %s: %v", f.Name, err)) // the tag is wrong: every test fails
		}
	})
}

// setDefault sets a field that has its zero value.
func setDefault[T comparable](p *T, v T) { *p = cmp.Or(*p, v) }

// setPointer sets a field whose zero value means something.
func setPointer[T any](p **T, v T) { *p = cmp.Or(*p, &v) }

package config

import (
	"fmt"
	"io"
	"net/url"
	"reflect"
	"time"

	"github.com/BurntSushi/toml"
)

// masked stands in for a secret that is set. An unset one shows as empty, so
// that a missing secret can be seen.
const masked = "********"

// Print writes src, a struct or a pointer to one, as TOML that Load reads, with
// secrets masked: fields tagged secret:"true" whole, of those tagged
// secret:"url" the password.
func Print(w io.Writer, src any) error {
	v := reflect.ValueOf(src)
	for v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return fmt.Errorf("config: %T is no struct", src)
	}
	e := toml.NewEncoder(w)
	e.Indent = ""
	return e.Encode(plain(v, ""))
}

// plain turns a value into what TOML has a form for.
func plain(v reflect.Value, secret string) any {
	if v.Type() == durationType {
		return time.Duration(v.Int()).String()
	}
	if text, ok := v.Interface().(interface{ MarshalText() ([]byte, error) }); ok {
		out, err := text.MarshalText()
		if err != nil {
			return ""
		}
		return mask(string(out), secret)
	}
	switch v.Kind() {
	case reflect.Struct:
		out := map[string]any{}
		for key, f := range fieldsOf(v.Type()) {
			kind := f.Tag.Get("secret")
			if kind == "" {
				kind = secret // A secret section makes secrets of all in it.
			}
			out[key] = plain(v.FieldByIndex(f.Index), kind)
		}
		return out
	case reflect.Map:
		out := map[string]any{}
		for it := v.MapRange(); it.Next(); {
			out[it.Key().String()] = plain(it.Value(), secret)
		}
		return out
	case reflect.Slice:
		out := make([]any, v.Len())
		for i := range out {
			out[i] = plain(v.Index(i), secret)
		}
		return out
	case reflect.String:
		return mask(v.String(), secret)
	}
	if secret != "" {
		return mask(fmt.Sprint(v.Interface()), secret)
	}
	return v.Interface()
}

func mask(text, secret string) string {
	switch {
	case secret == "" || text == "":
		return text
	case secret == "url":
		u, err := url.Parse(text)
		if err != nil {
			return masked
		}
		q := u.Query() // libpq takes a password there as well.
		for _, name := range []string{"password", "sslpassword"} {
			if q.Has(name) {
				q.Set(name, "xxxxx")
				u.RawQuery = q.Encode()
			}
		}
		return u.Redacted()
	}
	return masked
}

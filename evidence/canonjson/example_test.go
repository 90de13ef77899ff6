package canonjson_test

import (
	"errors"
	"fmt"

	"github.com/prova-dev/prova/evidence/canonjson"
)

// What an issuer hashes for a request: the canonical text of the request data.
func Example() {
	request := canonjson.NewObject(
		"target", "https://corpus.example.test/entites/ENT-0001",
		"method", "GET",
		"payload", canonjson.NewObject(),
		"amount", 0.0,
		"currency", "eur",
	)
	fmt.Printf("%s\n", canonjson.Marshal(request))
	fmt.Printf("%x\n", canonjson.Sum(request))
	// Output:
	// {"amount":0.0,"currency":"eur","method":"GET","payload":{},"target":"https://corpus.example.test/entites/ENT-0001"}
	// bddf2156fd8aa0075470d98c2d3b51b6882da25be12c8a60106d1373cc4dd896
}

func ExampleParse() {
	// Somebody else's document, read as Python reads it.
	value, err := canonjson.Parse([]byte(`{"b": 1e3, "a": "é", "b": [NaN, 12345678901234567890123, -0, 1E-7]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s\n", canonjson.Marshal(value))
	// Output: {"a":"\u00e9","b":[NaN,12345678901234567890123,0,1e-07]}
}

func ExampleParseStrict() {
	_, err := canonjson.ParseStrict([]byte(`{"claims": [{"field": "/nom", "field": "/etat"}]}`))
	fmt.Println(err)

	var syntax *canonjson.SyntaxError
	if errors.As(err, &syntax) {
		fmt.Println(syntax.Offset, syntax.Pointer)
	}
	// Output:
	// invalid JSON at byte 30 in "/claims/0/field": member name "field" appears twice in one object; remove one
	// 30 /claims/0/field
}

func ExampleCompact() {
	answer := canonjson.NewObject("proof_id", "prf_20260921_101233_0a1b2c", "note", "déjà vu", "views", 1)
	fmt.Printf("%s\n", canonjson.Compact(answer))
	// Output: {"proof_id":"prf_20260921_101233_0a1b2c","note":"déjà vu","views":1}
}

func ExampleResolve() {
	value, err := canonjson.ParseStrict([]byte(`{"liste": [{"nom/prénom": "Ada"}]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(canonjson.Resolve(value, "/liste/0/nom~1prénom"))
	fmt.Println(canonjson.Resolve(value, "/liste/00/nom~1prénom"))
	// Output:
	// Ada true
	// <nil> false
}

func ExampleEqual() {
	one, float := canonjson.NewInt(1), 1.0
	fmt.Println(canonjson.Equal(one, float))
	fmt.Println(canonjson.Equal(canonjson.NewObject("a", one, "b", nil), canonjson.NewObject("b", nil, "a", one)))
	// Output:
	// false
	// true
}

func ExampleFromGo() {
	value, err := canonjson.FromGo(map[string]any{"required": []string{"timestamp", "log"}, "season": 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s\n", canonjson.Compact(value))
	// Output: {"required":["timestamp","log"],"season":1}
}

func ExampleObject() {
	o := canonjson.NewObject("first", true)
	o.Set("second", "x")
	o.Set("first", false) // keeps its place
	for name, value := range o.All() {
		fmt.Println(name, value)
	}
	// Output:
	// first false
	// second x
}

func ExampleSorted() {
	v, err := canonjson.ParseStrict([]byte(`{"lr": 3e-4, "flops": 2000000000000000000, "eps": 1e-8, "share": 1.0, "name": "é"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err := canonjson.Sorted(v)
	fmt.Println(string(text), err)
	// Output: {"eps":1e-8,"flops":2000000000000000000,"lr":0.0003,"name":"é","share":1.0} <nil>
}

// Command evaluate-fit is the evaluator of the example: it reads the model that a
// recipe wrote and its error on points that the recipe never saw, and writes the mean
// of the squared errors to /out/primary.json.
package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "evaluate-fit:", err)
		os.Exit(1)
	}
}

func run() error {
	data, err := os.ReadFile("/in/outputs/model.json")
	if err != nil {
		return err
	}
	var model struct {
		Coefficients []float64 `json:"coefficients"`
	}
	if err := json.Unmarshal(data, &model); err != nil {
		return fmt.Errorf("model.json: %w", err)
	}
	if len(model.Coefficients) == 0 || len(model.Coefficients) > 64 {
		return fmt.Errorf("model.json: it has %d coefficients, want 1 to 64", len(model.Coefficients))
	}
	f, err := os.Open("/in/holdout/points.csv")
	if err != nil {
		return err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return err
	}
	if len(rows) < 2 {
		return fmt.Errorf("the holdout has no points")
	}
	sum := 0.0
	for _, row := range rows[1:] {
		x, errX := strconv.ParseFloat(row[0], 64)
		y, errY := strconv.ParseFloat(row[1], 64)
		if errX != nil || errY != nil {
			return fmt.Errorf("the holdout has a row that is no pair of numbers")
		}
		guess := 0.0
		for i := len(model.Coefficients) - 1; i >= 0; i-- {
			guess = float64(guess*x) + model.Coefficients[i]
		}
		sum += float64((guess - y) * (guess - y))
	}
	out, err := json.Marshal(map[string]float64{"primary_value": sum / float64(len(rows)-1)})
	if err != nil {
		return err
	}
	return os.WriteFile("/out/primary.json", out, 0o644)
}

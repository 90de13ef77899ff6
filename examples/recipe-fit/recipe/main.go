// Command recipe-fit is a recipe: it fits a polynomial to the points in
// /in/points.csv by least squares and writes its coefficients to /out/model.json.
//
// It reads its input and writes its output, as a recipe must, and asks for nothing
// else: a host gives it no network, no environment and no clock of its own.
package main

import (
	"encoding/csv"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"strconv"
)

func main() {
	degree := flag.Int("degree", 3, "degree of the polynomial")
	flag.Parse()
	if err := run(*degree); err != nil {
		fmt.Fprintln(os.Stderr, "recipe-fit:", err)
		os.Exit(1)
	}
}

func run(degree int) error {
	xs, ys, err := points("/in/points.csv")
	if err != nil {
		return err
	}
	model, err := fit(xs, ys, degree)
	if err != nil {
		return err
	}
	data, err := json.Marshal(map[string]any{"coefficients": model})
	if err != nil {
		return err
	}
	fmt.Printf("%d points, coefficients %.4f\n", len(xs), model)
	return os.WriteFile("/out/model.json", append(data, '\n'), 0o644)
}

func points(path string) (xs, ys []float64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, nil, err
	}
	for i, row := range rows[1:] {
		x, errX := strconv.ParseFloat(row[0], 64)
		y, errY := strconv.ParseFloat(row[1], 64)
		if errX != nil || errY != nil {
			return nil, nil, fmt.Errorf("%s: row %d is no pair of numbers", path, i+2)
		}
		xs, ys = append(xs, x), append(ys, y)
	}
	return xs, ys, nil
}

// fit solves the normal equations by elimination with pivots. Products are rounded
// before they are added, so that no processor fuses the two.
func fit(xs, ys []float64, degree int) ([]float64, error) {
	n := degree + 1
	a := make([][]float64, n)
	for i := range a {
		a[i] = make([]float64, n+1)
	}
	for k, x := range xs {
		powers := make([]float64, 2*n)
		powers[0] = 1
		for i := 1; i < len(powers); i++ {
			powers[i] = powers[i-1] * x
		}
		for i := range n {
			for j := range n {
				a[i][j] += powers[i+j]
			}
			a[i][n] += float64(powers[i] * ys[k])
		}
	}
	for col := range n {
		pivot := col
		for row := col + 1; row < n; row++ {
			if math.Abs(a[row][col]) > math.Abs(a[pivot][col]) {
				pivot = row
			}
		}
		if a[pivot][col] == 0 {
			return nil, fmt.Errorf("%d points do not determine a polynomial of degree %d", len(xs), degree)
		}
		a[col], a[pivot] = a[pivot], a[col]
		for row := range n {
			if row == col {
				continue
			}
			f := a[row][col] / a[col][col]
			for j := col; j <= n; j++ {
				a[row][j] -= float64(f * a[col][j])
			}
		}
	}
	out := make([]float64, n)
	for i := range out {
		out[i] = a[i][n] / a[i][i]
	}
	return out, nil
}

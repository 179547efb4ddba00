package main

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"herald/compensate"
	"herald/state"
)

// metrics counts what happens, and reads how the targets are whenever it is asked.
type metrics struct {
	registry *prometheus.Registry
	moves    *prometheus.CounterVec
	checks   *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
}

func newMetrics() *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		moves: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "herald_delivery_moves_total", Help: "Moves of deliveries by target, verb and class of error (empty: none).",
		}, []string{"target", "verb", "class"}),
		checks: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "herald_quality_checks_total", Help: "Verdicts of the quality check by what gave them, and whether they passed or are degraded.",
		}, []string{"by", "pass", "degraded"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "herald_call_seconds", Help: "Duration of the calls of a platform by target and operation.",
			Buckets: []float64{.05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300},
		}, []string{"target", "op"}),
	}
	m.registry.MustRegister(m.moves, m.checks, m.seconds, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// moved counts one move of a delivery.
func (m *metrics) moved(d state.Delivery, e state.Event) {
	class := ""
	if e.Failure != nil {
		class = string(e.Failure.Kind.Class())
	}
	m.moves.WithLabelValues(d.Target, string(e.Verb), class).Inc()
	if e.Took > 0 {
		m.seconds.WithLabelValues(d.Target, e.Op).Observe(e.Took.Seconds())
	}
}

// checked counts one verdict.
func (m *metrics) checked(q state.Quality) {
	m.checks.WithLabelValues(q.By, strconv.FormatBool(q.Pass), strconv.FormatBool(q.Degraded)).Inc()
}

// watch adds how the targets are to what is told.
func (m *metrics) watch(driver *compensate.Driver) {
	m.registry.MustRegister(targetMetrics{driver})
}

// targetMetrics asks the driver at the moment of being asked.
type targetMetrics struct{ driver *compensate.Driver }

var (
	waitingMetric = prometheus.NewDesc("herald_target_waiting", "Deliveries that wait for a call of the target.", []string{"target"}, nil)
	breakerMetric = prometheus.NewDesc("herald_target_breaker_open", "1 while the target's breaker is open, 0.5 while it is half-open.", []string{"target"}, nil)
	heldMetric    = prometheus.NewDesc("herald_target_held", "1 while the target is held by a quota or for a person.", []string{"target"}, nil)
)

// Describe implements prometheus.Collector.
func (targetMetrics) Describe(c chan<- *prometheus.Desc) {
	c <- waitingMetric
	c <- breakerMetric
	c <- heldMetric
}

// Collect implements prometheus.Collector.
func (t targetMetrics) Collect(c chan<- prometheus.Metric) {
	reports, err := t.driver.Targets(time.Now())
	if err != nil {
		c <- prometheus.NewInvalidMetric(waitingMetric, err)
		return
	}
	gauge := func(d *prometheus.Desc, v float64, target string) {
		c <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, target)
	}
	open := map[string]float64{"open": 1, "half-open": 0.5}
	for _, r := range reports {
		held := 0.0
		if r.Hold != nil {
			held = 1
		}
		gauge(waitingMetric, float64(r.Waiting), r.Name)
		gauge(breakerMetric, open[r.Breaker], r.Name)
		gauge(heldMetric, held, r.Name)
	}
}

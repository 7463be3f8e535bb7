import TestSupport

/// Runs worlds, and finds a minimal set of steps with which one still fails in the same way.
enum Shrinker {
    /// The result of running a world.
    struct Outcome {
        var violation: Violation?
        var hash: UInt64
        var tail: String
        var counters: WorldCounters
    }

    static func run(_ plan: World.Plan) throws -> Outcome {
        let world = try World(plan)
        let violation = world.run()
        return Outcome(
            violation: violation, hash: world.trace.hash, tail: world.trace.tail(60),
            counters: world.counters)
    }

    /// Removes as many steps as possible while the same law is still broken; returns the smaller
    /// plan.
    static func shrink(_ plan: World.Plan, law: Int, attempts: Int = 60) throws -> World.Plan {
        var plan = plan
        var left = attempts
        var size = plan.steps / 2
        while size > 0, left > 0 {
            var start = 1
            while start <= plan.steps, left > 0 {
                var smaller = plan
                smaller.skipped.formUnion(start..<min(start + size, plan.steps + 1))
                start += size
                guard smaller.skipped.count > plan.skipped.count else { continue }
                left -= 1
                if try run(smaller).violation?.law == law { plan = smaller }
            }
            size /= 2
        }
        return plan
    }

    /// Returns the text of a failure: the seed, the law, the necessary steps, and the end of the
    /// trace.
    static func report(_ plan: World.Plan, _ violation: Violation) throws -> String {
        let smaller = try shrink(plan, law: violation.law)
        let outcome = try run(smaller)
        let steps = (1...plan.steps).filter { !smaller.skipped.contains($0) }
        return """
            seed \(plan.seed): \(violation)
            TANDEM_SEED=\(plan.seed) swift test --filter SimulationTests runs it again.
            \(steps.count) of \(plan.steps) steps are enough: \(steps)
            \(outcome.violation.map { "then: \($0)" } ?? "")
            \(outcome.tail)
            """
    }
}

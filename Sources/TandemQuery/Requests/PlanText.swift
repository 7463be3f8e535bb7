/// The lines of a plan, each indented by its depth.
package struct PlanText {
    package private(set) var lines: [String] = []
    private var depth = 0
    private let steps: [FetchPlanStep]
    private var next = 0

    /// Creates the text of a plan whose steps are in preorder.
    package init(_ steps: [FetchPlanStep]) { self.steps = steps }

    /// Adds a line; the next one is indented below it.
    package mutating func add(_ line: String) {
        lines.append(String(repeating: "  ", count: depth) + line)
        depth += 1
    }

    /// Adds the plan of a fetch: the evaluation of its predicate, if any, above the access path.
    package mutating func addPlan() {
        guard steps.indices.contains(next) else { return }
        if !steps[next].findsOnlyMatches { add("rows evaluated") }
        addAccess()
    }

    /// Adds an access path, and below it the paths that it combines.
    private mutating func addAccess() {
        let step = steps[next]
        next += 1
        add(step.text)
        let below = depth
        while steps.indices.contains(next), steps[next].depth > step.depth {
            // Below a relationship is the plan of a separate fetch with its own predicate.
            if step.access == .related { addPlan() } else { addAccess() }
            depth = below
        }
    }
}

extension FetchPlanStep {
    /// The step as one line, such as `Team: index (zone, wins), 2 ranges, in order`.
    fileprivate var text: String {
        var parts = [path]
        if access == .index { parts.append("\(ranges) \(ranges == 1 ? "range" : "ranges")") }
        if access == .unique, ranges != 1 { parts.append("\(ranges) keys") }
        if isOrdered { parts.append("in order") }
        if needsOnlyKeys { parts.append("keys only") }
        return "\(entity): \(parts.joined(separator: ", "))"
    }

    private var path: String {
        let names = properties.joined(separator: ", ")
        return switch access {
        case .scan: "scan"
        case .index: "index (\(names))"
        case .unique: "unique (\(names))"
        case .inverse: "inverse of \(names)"
        case .related: "back over \(names) from"
        case .union: "union of these \(ranges)"
        }
    }
}

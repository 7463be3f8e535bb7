import TandemModel

/// Texts that are too long for their rows: decided by their beginning where that tells, else by what the reader fetches.
extension Evaluation {
    func holds<R: GraphReader & ~Copyable>(
        _ text: TextReference, _ test: TextTest, _ reader: borrowing R
    ) -> Bool? {
        if let known = test.holds(text) { return known }
        return reader.content(of: text).map { $0.withUnsafeBytes { test.holds(utf8: $0) } }
    }

    /// Compares two values, fetching what is too long for a row; nil where the reader can't.
    func compare<R: GraphReader & ~Copyable>(
        _ left: Value, _ op: Comparison.Operator, _ right: Value, _ options: Comparison.Options,
        _ reader: borrowing R
    ) -> Bool? {
        if case .longText(let a) = left, case .longText(let b) = right, a == b || options.isEmpty {
            if op == .equal { return a == b }
            if op == .notEqual { return a != b }
        }
        guard let left = whole(left, reader), let right = whole(right, reader) else { return nil }
        return Evaluation.compare(left, op, right, options)
    }

    /// The value with its text; nil when the reader does not hold that.
    func whole<R: GraphReader & ~Copyable>(_ value: Value, _ reader: borrowing R) -> Value? {
        guard case .longText(let text) = value else { return value }
        return reader.content(of: text).map(value.whole)
    }
}

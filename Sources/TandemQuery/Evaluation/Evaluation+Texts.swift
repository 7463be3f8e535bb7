import TandemModel

/// Comparison of texts stored outside their rows: by their beginnings if these suffice, otherwise
/// by the content that the reader fetches.
extension Evaluation {
    func holds<R: GraphReader & ~Copyable>(
        _ text: TextReference, _ test: TextTest, _ reader: borrowing R
    ) -> Bool? {
        if let known = test.holds(text) { return known }
        return reader.content(of: text).map { $0.withUnsafeBytes { test.holds(utf8: $0) } }
    }

    /// Compares two values, fetching texts stored outside the row; returns nil if the reader lacks
    /// one.
    func compare<R: GraphReader & ~Copyable>(
        _ left: PropertyValue, _ op: Comparison.Operator, _ right: PropertyValue,
        _ options: ComparisonOptions,
        _ reader: borrowing R
    ) -> Bool? {
        if case .longText(let a) = left, case .longText(let b) = right, a == b || options.isEmpty {
            if op == .equal { return a == b }
            if op == .notEqual { return a != b }
        }
        guard let left = whole(left, reader), let right = whole(right, reader) else { return nil }
        return Evaluation.compare(left, op, right, options)
    }

    /// Returns the value with its whole text; nil if the reader does not have the text.
    func whole<R: GraphReader & ~Copyable>(_ value: PropertyValue, _ reader: borrowing R)
        -> PropertyValue?
    {
        guard case .longText(let text) = value else { return value }
        return reader.content(of: text).map(value.whole)
    }
}

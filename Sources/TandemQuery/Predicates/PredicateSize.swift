import TandemModel

/// The size of a predicate, from which its cost per object is estimated.
package struct PredicateSize: Hashable, Sendable {
    /// The number of comparisons, including those of subqueries.
    package private(set) var comparisons = 0
    /// The number of comparisons that search or fold texts.
    package private(set) var textSearches = 0
    /// The size of the longest text or data constant in bytes.
    package private(set) var constantBytes = 0
    /// The number of predicates, expressions and list elements, plus one for every 64 bytes of a
    /// constant.
    package private(set) var parts = 0

    /// Measures a predicate, which must not be nested deeper than ``PredicateTree/maximumDepth``.
    package init(of predicate: ObjectPredicate) { visit(predicate.tree) }

    private mutating func visit(_ predicate: PredicateTree) {
        parts += 1
        switch predicate {
        case .constant: break
        case .and(let parts), .or(let parts): for part in parts { visit(part) }
        case .not(let part): visit(part)
        case .comparison(let comparison):
            comparisons += 1
            if comparison.searchesText { textSearches += 1 }
            visit(comparison.left)
            visit(comparison.right)
        }
    }

    private mutating func visit(_ expression: QueryExpression) {
        parts += 1
        switch expression {
        case .constant(.string(let text)): visit(constantBytes: text.utf8.count)
        case .constant(.data(let bytes)): visit(constantBytes: bytes.count)
        case .constant, .object, .keyPath, .selfObject, .variable: break
        case .list(let elements): for element in elements { visit(element) }
        case .aggregate(_, let collection, _): visit(collection)
        case .subquery(let collection, _, let predicate):
            visit(collection)
            visit(predicate)
        case .arithmetic(_, let left, let right):
            visit(left)
            visit(right)
        }
    }

    private mutating func visit(constantBytes bytes: Int) {
        constantBytes = max(constantBytes, bytes)
        parts += bytes / 64
    }
}

extension Comparison {
    fileprivate var searchesText: Bool {
        switch op {
        case .contains, .endsWith, .like: true
        default: !options.isEmpty
        }
    }
}

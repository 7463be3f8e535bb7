import TandemModel

/// A check of a predicate's depth and size, which does not recurse beyond the maximum depth.
struct PredicateLimits {
    static let tooDeep = TandemError(
        .limitExceeded,
        "the predicate is nested deeper than \(PredicateTree.maximumDepth); simplify it")
    static let tooLarge = TandemError(
        .limitExceeded,
        "the predicate has more than \(PredicateTree.maximumNodes) parts; split the request")

    private var nodes = 0

    static func check(_ predicate: PredicateTree) throws(TandemError) {
        var limits = PredicateLimits()
        try limits.visit(predicate, 1)
    }

    private mutating func enter(_ depth: Int) throws(TandemError) {
        nodes += 1
        guard depth <= PredicateTree.maximumDepth else { throw PredicateLimits.tooDeep }
        guard nodes <= PredicateTree.maximumNodes else { throw PredicateLimits.tooLarge }
    }

    private mutating func visit(
        _ predicate: PredicateTree, _ depth: Int
    ) throws(TandemError) {
        try enter(depth)
        switch predicate {
        case .constant: break
        case .and(let parts), .or(let parts):
            for part in parts { try visit(part, depth + 1) }
        case .not(let part): try visit(part, depth + 1)
        case .comparison(let comparison):
            try visit(comparison.left, depth + 1)
            try visit(comparison.right, depth + 1)
        }
    }

    private mutating func visit(
        _ expression: QueryExpression, _ depth: Int
    ) throws(TandemError) {
        try enter(depth)
        switch expression {
        case .constant, .object, .keyPath, .selfObject, .variable: break
        case .list(let elements): for element in elements { try visit(element, depth + 1) }
        case .aggregate(_, let collection, _): try visit(collection, depth + 1)
        case .subquery(let collection, _, let predicate):
            try visit(collection, depth + 1)
            try visit(predicate, depth + 1)
        case .arithmetic(_, let left, let right):
            try visit(left, depth + 1)
            try visit(right, depth + 1)
        }
    }
}

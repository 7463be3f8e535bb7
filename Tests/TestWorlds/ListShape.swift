import Tandem
import TandemModel
import TandemQuery
import TandemResults

/// A list that a random test watches: its request, and an equivalent in plain code.
package struct ListShape {
    /// A predicate as text and as a function.
    struct Rule: Sendable {
        var format: String?
        var holds: @Sendable (Dump, Dump.Object) -> Bool

        init(_ format: String?, _ holds: @escaping @Sendable (Dump, Dump.Object) -> Bool) {
            self.format = format
            self.holds = holds
        }
    }

    package private(set) var entity = "Content"
    package private(set) var includesSubentities = true
    var rule: Rule
    /// Key paths with a prefix `-` for descending order, and a suffix `[c]` to ignore case or `[n]`
    /// for natural order.
    package private(set) var sort: [String]
    package private(set) var section: String?
    package private(set) var refresh: [String]
    package private(set) var limit: Int?
    package var offset = 0

    /// The predicate, if there is one.
    package var format: String? { rule.format }

    /// The key paths that determine a row's placement.
    var placing: [String] {
        sort.map { ListOrder($0).keyPath } + [section].compactMap { $0 }
    }

    package init(isLimited: Bool, _ random: inout SplitMix) {
        let order = ListShape.orders[random.next(ListShape.orders.count)]
        sort = order.sort
        section = order.section
        rule = ListShape.rules[random.next(ListShape.rules.count)]
        if random.next(5) == 0 { entity = "Image" }
        includesSubentities = random.next(5) > 0
        if isLimited || random.next(4) == 0 { limit = 1 + random.next(4) }
        if random.next(8) == 0 { offset = random.next(3) }
        let refreshes = [
            [], ["bucket.name"], ["tags.name"], ["tags"], ["bucket.owner.name"],
            ["bucket.contents.name"], ["tags.contents"], ["bucket.owner.buckets.rank"],
        ]
        refresh = refreshes[random.next(refreshes.count)]
    }

    /// Returns the fetch request with the same meaning.
    func request() throws -> FetchRequest<ManagedObject> {
        var request = FetchRequest(entity: entity)
        request.predicate = try rule.format.map { try ObjectPredicate(format: $0) }
        request.sort = sort.map { ListOrder($0).key }
        request.includesSubentities = includesSubentities
        request.limit = limit
        request.offset = offset
        return request
    }

    private static let orders: [(sort: [String], section: String?)] = [
        (["name"], nil), (["-size", "name"], nil), (["name", "-size"], "name"),
        (["bucket.name", "-size"], "bucket.name"), (["-size"], "size"),
        (["-bucket.owner.name", "name"], "bucket.owner.name"),
        (["isEven", "name"], "isEven"), (["bucket.rank", "-name"], nil),
        (["-isEven", "-bucket.rank"], nil), (["-bucket.rank", "name"], "bucket.rank"),
        (["-size", "-isEven", "-bucket.rank"], "size"),
        (["bucket.owner.name", "-bucket.name"], "bucket.owner.name"), (["-bucket.name"], nil),
        (["at", "name"], nil), (["-rate", "name"], "rate"), (["name[c]", "-size"], nil),
        (["-name[c]"], nil), (["-at"], "at"), (["name[n]"], nil),
        (["-bucket.name[n]", "size"], nil),
        (["bucket.owner.seat.name", "-size"], "bucket.owner.seat.name"),
    ]

    private static let rules: [Rule] = [
        Rule(nil) { _, _ in true },
        Rule("size > 1") { _, row in row.int("size") > 1 },
        Rule("isEven = TRUE OR name = 'a'") { _, row in
            row["isEven"] == .bool(true) || row["name"] == .string("a")
        },
        Rule("bucket.name = 'a'") { graph, row in
            graph.reached(row, "bucket.name") == .string("a")
        },
        Rule("bucket.rank >= 2 OR size = 1") { graph, row in
            graph.object(row, "bucket")?.int("rank") ?? -1 >= 2 || row.int("size") == 1
        },
        Rule("bucket.owner.name IN {'a', 'b'}") { graph, row in
            [.string("a"), .string("b")].contains(graph.reached(row, "bucket.owner.name"))
        },
        Rule("ANY tags.name = 'b'") { graph, row in
            graph.members(row, "tags").contains { $0["name"] == .string("b") }
        },
        Rule("tags.@count > 1") { graph, row in graph.members(row, "tags").count > 1 },
        Rule("SUBQUERY(tags, $t, $t.name = 'a').@count > 0") { graph, row in
            graph.members(row, "tags").contains { $0["name"] == .string("a") }
        },
        Rule("NONE tags.name = 'c'") { graph, row in
            !graph.members(row, "tags").contains { $0["name"] == .string("c") }
        },
        Rule("ALL tags.name = 'a'") { graph, row in
            graph.members(row, "tags").allSatisfy { $0["name"] == .string("a") }
        },
        Rule("bucket = nil") { _, row in row["bucket"].isNull },
        Rule("name CONTAINS[cd] 'a'") { _, row in
            ["a", "Ä", "ä"].map(PropertyValue.string).contains(row["name"])
        },
        Rule("NOT size BETWEEN {1, 2}") { _, row in ![1, 2].contains(row.int("size")) },
        Rule("ANY bucket.contents.size = 3") { graph, row in
            graph.siblings(row).contains { $0.int("size") == 3 }
        },
        Rule("bucket.contents.@count > 2 AND size != nil") { graph, row in
            graph.siblings(row).count > 2 && !row["size"].isNull
        },
        Rule("ANY tags.contents.size > 2") { graph, row in
            graph.members(row, "tags").flatMap { graph.members($0, "contents") }
                .contains { $0.int("size") > 2 }
        },
        Rule(
            "SUBQUERY(bucket.contents, $c, $c.size > 1 AND ANY $c.tags.name = 'a').@count >= 1"
        ) { graph, row in
            graph.siblings(row).contains { other in
                other.int("size") > 1
                    && graph.members(other, "tags").contains { $0["name"] == .string("a") }
            }
        },
        Rule("bucket.owner.buckets.@count = 2 OR tags.@count = 0") { graph, row in
            let owner = graph.object(row, "bucket").flatMap { graph.object($0, "owner") }
            return owner.map { graph.members($0, "buckets").count } == 2
                || graph.members(row, "tags").isEmpty
        },
        Rule("bucket.contents.@sum.size > 3") { graph, row in
            graph.siblings(row).map { max(0, $0.int("size")) }.reduce(0, +) > 3
        },
    ]
}

/// One key of an order in the form of ``ListShape/sort``.
package struct ListOrder {
    package let keyPath: String
    package let isDescending: Bool
    package let isFolded: Bool
    package let isNatural: Bool

    package init(_ text: String) {
        isDescending = text.hasPrefix("-")
        isFolded = text.hasSuffix("[c]")
        isNatural = text.hasSuffix("[n]")
        keyPath = String(
            text.dropFirst(isDescending ? 1 : 0).dropLast(isFolded || isNatural ? 3 : 0))
    }

    /// The sort key with the same meaning.
    var key: SortKey<ManagedObject> {
        SortKey(
            keyPath, ascending: !isDescending,
            selector: isFolded ? .caseInsensitiveCompare : isNatural ? .naturalCompare : .compare)
    }
}

package import Tandem
import TandemModel
import TandemResults
package import TestSupport

/// The graph as plain dictionaries, and a simple reference implementation of the rules of lists.
///
/// It uses none of the library's predicates, keys, lists or change arithmetic, so that it can check
/// them.
package struct Dump: Equatable {
    package struct Object: Equatable {
        package var number: UInt64
        /// The object's entity and its ancestors.
        package var entities: [String]
        package var values: [String: PropertyValue] = [:]
        package var members: [String: [UInt64]] = [:]

        package init(_ number: UInt64, _ entities: [String]) {
            self.number = number
            self.entities = entities
        }

        package subscript(name: String) -> PropertyValue { values[name] ?? .null }

        /// Returns an integer, or -1 for nil; tests use no negative integers.
        func int(_ name: String) -> Int {
            if case .int(let value) = self[name] { Int(value) } else { -1 }
        }
    }

    package private(set) var objects: [UInt64: Object] = [:]

    /// Creates a dump of objects that were read in another way.
    package init(_ objects: [Object]) {
        for object in objects { self.objects[object.number] = object }
    }

    /// Reads all objects of a context.
    package init(_ context: ManagedObjectContext) throws {
        for root in ["Owner", "Bucket", "Content", "Tag"] {
            for object in try context.fetch(FetchRequest(entity: root)) {
                var copy = Object(object.id.number, [object.entityName])
                if object.entityName != root { copy.entities.append(root) }
                for property in object.entity.properties {
                    if property.isToMany {
                        copy.members[property.name] = object.objects(property.name).map(\.id.number)
                            .sorted()
                    } else {
                        copy.values[property.name] = object[property.name]
                    }
                }
                objects[copy.number] = copy
            }
        }
    }

    /// The number of objects.
    package var count: Int { objects.count }

    /// Returns the numbers of objects that differ.
    package func differences(from other: Dump) -> [UInt64] {
        Set(objects.keys).union(other.objects.keys).sorted().filter {
            objects[$0] != other.objects[$0]
        }
    }

    // MARK: Paths

    /// Returns the object at the end of a to-one relationship.
    func object(_ object: Object, _ name: String) -> Object? {
        object[name].reference.flatMap { objects[$0.number] }
    }

    /// Returns the members of a to-many relationship.
    func members(_ object: Object, _ name: String) -> [Object] {
        (object.members[name] ?? []).compactMap { objects[$0] }
    }

    /// Returns all objects in the same bucket.
    func siblings(_ object: Object) -> [Object] {
        self.object(object, "bucket").map { members($0, "contents") } ?? []
    }

    /// Returns the value of a path of to-one relationships; null if a relationship is empty.
    func reached(_ object: Object, _ path: String) -> PropertyValue {
        var names = path.split(separator: ".").map(String.init)
        let last = names.removeLast()
        var end: Object? = object
        for name in names { end = end.flatMap { self.object($0, name) } }
        return end?[last] ?? .null
    }

    /// Returns everything that a row shows: its own values and members, and the values of the
    /// observed paths.
    package func shown(_ number: UInt64, _ shape: ListShape) -> [String] {
        guard let row = objects[number] else { return [] }
        let own =
            row.values.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
            + row.members.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value.sorted())" }
        return own
            + (shape.refresh + shape.placing).map { ends([row], $0.split(separator: ".")[...]) }
    }

    /// Returns the placement of a row: the values by which it is sorted, and its section.
    package func place(_ number: UInt64, _ shape: ListShape) -> [String] {
        guard let row = objects[number] else { return [] }
        return shape.placing.map { "\(reached(row, $0))" }
            + [shape.section.map { Dump.name(reached(row, $0)) } ?? ""]
    }

    private func ends(_ objects: [Object], _ path: ArraySlice<Substring>) -> String {
        guard let first = path.first.map(String.init) else {
            return "\(objects.map(\.number).sorted())"
        }
        let next = objects.flatMap {
            members($0, first) + [self.object($0, first)].compactMap { $0 }
        }
        if !next.isEmpty { return ends(next, path.dropFirst()) }
        // A path with an empty relationship has the same value as one that ends in null.
        let isAttribute = path.count == 1
        let values = objects.filter { $0.members[first] == nil }.map { object in
            "\(isAttribute ? object[first] : .null)"
        }
        return "\(values.sorted())"
    }

    // MARK: Lists

    /// Returns the sections of a list; nil if a section occurs again after another one.
    package func table(_ shape: ListShape) -> [TableSection]? {
        sections(shape)?.map { TableSection($0.name, $0.numbers) }
    }

    /// Returns the sections of a list; nil if a section occurs again after another one.
    func sections(_ shape: ListShape) -> [SectionIDs]? {
        let rows = objects.values.filter { row in
            (shape.includesSubentities || row.entities[0] == shape.entity)
                && row.entities.contains(shape.entity) && shape.rule.holds(self, row)
        }
        let sorted = rows.sorted { precedes($0, $1, shape.sort) }.dropFirst(shape.offset)
        var sections =
            shape.section == nil ? [SectionIDs(name: "", numbers: [])] : []
        for row in shape.limit.map({ sorted.prefix($0) }) ?? sorted {
            let name = shape.section.map { Dump.name(reached(row, $0)) } ?? ""
            if sections.last?.name != name {
                if sections.contains(where: { $0.name == name }) { return nil }
                sections.append(SectionIDs(name: name, numbers: []))
            }
            sections[sections.count - 1].numbers.append(row.number)
        }
        return sections
    }

    private func precedes(_ a: Object, _ b: Object, _ sort: [String]) -> Bool {
        for key in sort {
            let key = ListOrder(key)
            var (one, two) = (reached(a, key.keyPath), reached(b, key.keyPath))
            // No world has digits in its texts, so natural order equals folded order.
            if key.isFolded || key.isNatural { (one, two) = (Dump.folded(one), Dump.folded(two)) }
            let order = Dump.order(one, two)
            if order != 0 { return key.isDescending ? order > 0 : order < 0 }
        }
        return a.number < b.number
    }

    /// Returns a text in lower case; worlds have no other letters with two cases.
    private static func folded(_ value: PropertyValue) -> PropertyValue {
        value == .string("Ä") ? .string("ä") : value
    }

    /// Returns a negative number, zero or a positive one; nil sorts first.
    private static func order(_ a: PropertyValue, _ b: PropertyValue) -> Int {
        switch (a, b) {
        case (.null, .null): 0
        case (.null, _): -1
        case (_, .null): 1
        case (.bool(let a), .bool(let b)): (a ? 1 : 0) - (b ? 1 : 0)
        case (.int(let a), .int(let b)): Int(a - b)
        case (.double(let a), .double(let b)), (.date(let a), .date(let b)):
            a == b ? 0 : a < b ? -1 : 1
        case (.string(let a), .string(let b)):
            a == b ? 0 : a.utf8.lexicographicallyPrecedes(b.utf8) ? -1 : 1
        default: preconditionFailure("no test sorts by \(a)")
        }
    }

    private static func name(_ value: PropertyValue) -> String {
        switch value {
        case .null: ""
        case .bool(let value): value ? "1" : "0"
        case .int(let value): "\(value)"
        case .double(let value), .date(let value):
            switch value {
            case 0: "0"
            case 2: "2"
            case 1e19: "10000000000000000000"
            default: "\(value)"
            }
        case .string(let value): value
        default: preconditionFailure("no test has sections by \(value)")
        }
    }
}

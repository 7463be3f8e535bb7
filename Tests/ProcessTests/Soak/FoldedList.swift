import TandemModel

/// A list that is updated only from change events, as a table view would be.
///
/// It follows the rules of a batch update, and uses nothing of the library.
struct FoldedList: Equatable {
    struct Section: Equatable {
        var name: String
        var objects: [String]
    }

    /// A change that violates the rules.
    struct Problem: Error, CustomStringConvertible {
        var description: String
    }

    private typealias Path = (section: Int, item: Int)

    private(set) var sections: [Section]
    /// The position of the last change.
    private(set) var position: Int64

    /// Creates the list from an answer with sections.
    init(_ answer: JSON) {
        position = answer["position"]?.int ?? 0
        sections = Self.sections(answer)
    }

    /// Returns the sections of an answer.
    static func sections(_ answer: JSON) -> [Section] {
        (answer["sections"]?.array ?? []).map { section in
            Section(
                name: section["name"]?.string ?? "?",
                objects: section["objects"]?.array?.compactMap(\.string) ?? [])
        }
    }

    var objects: [String] { sections.flatMap(\.objects) }

    /// Applies a change event.
    ///
    /// Deletes, updates and the sources of moves refer to the old sections, inserts and the targets
    /// of moves to the new ones.
    mutating func apply(_ event: JSON) throws(Problem) {
        let next = event["position"]?.int ?? 0
        try require(next > position, "a change at \(next) after one at \(position)")
        let parts = event["objects"]?.array ?? []
        let names = parts.compactMap { $0["object"]?.string }
        try require(Set(names).count == names.count, "an object is reported twice: \(event)")
        var new = try withoutLeavers(parts)
        try change(&new, event["sections"]?.array ?? [])
        try enter(&new, parts)
        sections = new
        position = next
        try require(!sections.contains { $0.objects.isEmpty && $0.name != "" }, "an empty section")
    }

    private func withoutLeavers(_ parts: [JSON]) throws(Problem) -> [Section] {
        var gone: [Int: Set<Int>] = [:]
        for part in parts {
            guard let from = Self.path(part["from"]) else { continue }
            try require(
                sections.indices.contains(from.section)
                    && sections[from.section].objects.indices.contains(from.item)
                    && sections[from.section].objects[from.item] == part["object"]?.string,
                "\(part) has a wrong location")
            if part["type"] != "update" { gone[from.section, default: []].insert(from.item) }
        }
        return sections.enumerated().map { index, section in
            let left = section.objects.indices.filter { gone[index]?.contains($0) != true }
            return Section(name: section.name, objects: left.map { section.objects[$0] })
        }
    }

    private func change(_ new: inout [Section], _ changes: [JSON]) throws(Problem) {
        let deleted = Set(Self.indices(changes, "delete").map(\.index))
        for index in deleted {
            try require(new.indices.contains(index), "section \(index) does not exist")
            try require(new[index].objects.isEmpty, "section \(index) is deleted with rows in it")
        }
        new = new.indices.filter { !deleted.contains($0) }.map { new[$0] }
        for (index, name) in Self.indices(changes, "insert").sorted(by: { $0.index < $1.index }) {
            try require(index <= new.count, "section \(index) is inserted after the end")
            new.insert(Section(name: name, objects: []), at: index)
        }
    }

    private func enter(_ new: inout [Section], _ parts: [JSON]) throws(Problem) {
        let comers = parts.compactMap { part -> (to: Path, object: String)? in
            guard part["type"] == "insert" || part["type"] == "move",
                let to = Self.path(part["to"])
            else { return nil }
            return (to, part["object"]?.string ?? "")
        }
        for (to, object) in comers.sorted(by: { ($0.to) < ($1.to) }) {
            try require(
                new.indices.contains(to.section) && to.item <= new[to.section].objects.count,
                "\(object) is inserted after the end")
            new[to.section].objects.insert(object, at: to.item)
        }
    }

    private static func path(_ json: JSON?) -> Path? {
        guard let numbers = json?.array?.compactMap(\.int), numbers.count == 2 else { return nil }
        return (Int(numbers[0]), Int(numbers[1]))
    }

    private static func indices(_ changes: [JSON], _ type: String) -> [(index: Int, name: String)] {
        changes.filter { $0["type"]?.string == type }.map {
            (Int($0["index"]?.int ?? -1), $0["name"]?.string ?? "?")
        }
    }

    private func require(_ isRight: Bool, _ problem: @autoclosure () -> String) throws(Problem) {
        if !isRight { throw Problem(description: problem()) }
    }
}

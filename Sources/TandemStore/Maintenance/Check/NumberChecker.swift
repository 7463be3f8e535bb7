import TandemModel

/// Checks the table of used numbers, and the high-water mark above them.
struct NumberChecker {
    private let graph: CheckedGraph
    /// The highest number in the rows and in the table of used numbers.
    private var highest: ObjectNumber = 0

    init(_ graph: CheckedGraph) { self.graph = graph }

    /// Records that a number is in use.
    mutating func record(_ number: ObjectNumber) { highest = max(highest, number) }

    /// Checks that the number of a row is recorded as used.
    func check(_ object: ObjectReference, _ report: inout StoreReport) throws(StoreError) {
        let key = StoreKey.number(object.number)
        let noted = try graph.get(.numbers, key)
        guard noted != StoreKey.tag(object.tag) else { return }
        let message =
            noted == nil
            ? "the number is not recorded as used" : "the number is recorded for another entity"
        report.add(
            StoreFinding(
                .unnotedNumber, .numbers, key, object: graph.id(object), message,
                [.put(.numbers, key: key, value: StoreKey.tag(object.tag))]))
    }

    /// Checks a used number, which may have no row, because numbers are kept after a deletion.
    mutating func check(
        _ key: [UInt8], _ value: [UInt8], _ report: inout StoreReport
    ) throws(StoreError) {
        guard key.count == 8 else {
            let message = "the key has \(key.count) bytes, not 8"
            return report.add(
                StoreFinding(.badKey, .numbers, key, message, [.delete(.numbers, key: key)]))
        }
        record(key.withUnsafeBytes { $0.bigEndian(0, as: UInt64.self) })
        guard value.count != 2 else { return }
        // For a deleted object, it only matters that the number was used.
        var tag: EntityTag = 0
        let number = key.withUnsafeBytes { $0.bigEndian(0, as: UInt64.self) }
        for entity in graph.model?.entities ?? [] {
            if try graph.exists(ObjectReference(tag: entity.tag, number: number)) {
                tag = entity.tag
            }
        }
        report.add(
            StoreFinding(
                .badValue, .numbers, key, "the value has \(value.count) bytes, not 2",
                [.put(.numbers, key: key, value: StoreKey.tag(tag))]))
    }

    /// Checks that the high-water mark is above all numbers in use.
    func checkMark(_ next: ObjectNumber, _ report: inout StoreReport) {
        guard highest >= next else { return }
        let message = "the next number is \(next), but \(highest) is in use"
        let mark = highest.successor ?? highest
        report.add(
            StoreFinding(
                .lowNumberMark, .meta, MetaKey.leases.key, message, [.raiseNumbers(to: mark)]))
    }
}

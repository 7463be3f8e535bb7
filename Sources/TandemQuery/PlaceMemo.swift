public import TandemModel

/// What a request's order and sections say of related objects, for as long as those stay the same.
///
/// Many rows of a list reach the same few objects, and both their keys and their sections read these. So what an object adds is worked out
/// once and found by its number from then on: one lookup a row. It serves one to-one relationship, the first that order or
/// section lead over, and paths of this one hop; whatever else leads elsewhere is read as ever. It begins anew when it is full.
///
///     let memo = PlaceMemo(of: request)
///     for (object, row) in rows { places.append(request.place(of: object, row, reader, memo)) }
public final class PlaceMemo {
    /// Objects of which it knows something at a time.
    static let capacity = 1_024

    /// What is known of one object.
    struct Reached {
        /// The components of the sort key by place; empty where they are not known.
        var keys: [[UInt8]]
        /// The name of the section; nil where it is not known.
        var section: String?
    }

    /// The relationship by slot; none if order and sections stay in the row.
    let slot: Int?
    private let keyCount: Int
    @exclusivity(unchecked) private var places: [ObjectNumber: Int] = [:]
    // Changed by what is in this file alone, which calls nobody who leads back here meanwhile.
    @exclusivity(unchecked) var all: [Reached] = []

    /// A memo that knows nothing yet.
    public init(of request: CompiledRequest) {
        slot = request.placingSlot
        keyCount = request.sort.count
    }

    /// Forgets everything, as when a reader knows other rows.
    public func clear() {
        if all.isEmpty { return }
        places.removeAll(keepingCapacity: true)
        all.removeAll(keepingCapacity: true)
    }

    /// The place of an object in `all`.
    func place(of number: ObjectNumber) -> Int {
        if let place = places[number] { return place }
        if all.count >= PlaceMemo.capacity { clear() }
        places[number] = all.count
        all.append(Reached(keys: [[UInt8]](repeating: [], count: keyCount)))
        return all.count - 1
    }
}

extension CompiledRequest {
    /// Where an object stands in a list: its encoded sort keys and the name of its section; nil when the reader does not hold
    /// what they need.
    ///
    /// The same as ``sortKey(_:_:_:)`` and ``section(_:_:_:)``. The memo is of this request, and of rows that this reader knows;
    /// without one everything is read.
    public func place<R: GraphReader & ~Copyable>(
        of object: ObjectReference, _ row: Row, _ reader: borrowing R, _ memo: PlaceMemo?
    ) -> (key: [UInt8], section: String)? {
        row.withView { place(of: object, $0, reader, memo) }
    }

    /// The same of a row that is lent.
    public func place<R: GraphReader & ~Copyable>(
        of object: ObjectReference, _ row: RowView, _ reader: borrowing R, _ memo: PlaceMemo?
    ) -> (key: [UInt8], section: String)? {
        guard let evaluation = evaluation(object, row) else { return nil }
        var encoder = KeyEncoder()
        guard let memo, let slot = memo.slot,
            let target = row.reference(slot, in: evaluation.object.entity)
        else {
            for at in sort.indices {
                guard append(at, of: evaluation, reader, to: &encoder) else { return nil }
            }
            return section(of: evaluation, reader).map { (encoder.bytes, $0) }
        }
        let reached = memo.place(of: target.number)
        for at in sort.indices {
            guard isServed(sort[at].path, slot) else {
                guard append(at, of: evaluation, reader, to: &encoder) else { return nil }
                continue
            }
            if memo.all[reached].keys[at].isEmpty {
                var component = KeyEncoder()
                guard append(at, of: evaluation, reader, to: &component) else { return nil }
                memo.all[reached].keys[at] = component.bytes
            }
            encoder.append(encoded: memo.all[reached].keys[at])
        }
        guard let sectionPath, isServed(sectionPath, slot) else {
            return section(of: evaluation, reader).map { (encoder.bytes, $0) }
        }
        if let known = memo.all[reached].section { return (encoder.bytes, known) }
        guard let name = section(of: evaluation, reader) else { return nil }
        memo.all[reached].section = name
        return (encoder.bytes, name)
    }

    private func isServed(_ path: CompiledPath, _ slot: Int) -> Bool {
        path.hops.count == 1 && path.root == 0 && path.hops[0].slot == slot
    }

    private func section<R: GraphReader & ~Copyable>(
        of evaluation: Evaluation, _ reader: borrowing R
    ) -> String? {
        guard let sectionPath else { return "" }
        return evaluation.value(sectionPath, reader)?.sectionName
    }
}

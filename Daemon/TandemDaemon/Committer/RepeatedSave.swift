import TandemModel
import TandemStore
import TandemWire

/// The answer to a save that is repeated under its id.
///
/// The store remembers position and inserted objects of the first one. Which new objects an existing one replaced is not
/// in the transaction; it is found again by their unique values, as far as these are still what they were.
struct RepeatedSave {
    let request: SaveRequest
    let first: SavedOnce
    let store: Store
    let model: CompiledModel

    /// The first answer.
    ///
    /// Its inserted objects stand for the request's inserts one by one, replaced ones included.
    func answer() throws -> Saved {
        var saved = Saved(
            position: first.position, wrote: false, isRepeat: true, inserted: first.inserted)
        let known = Set(first.inserted)
        let inserts = request.operations.compactMap { operation in
            if case .insert(let object, let values, _) = operation { (object, values) } else { nil }
        }
        guard inserts.count > known.count, known.isSubset(of: inserts.map(\.0)) else {
            return saved
        }
        var standIns: [ObjectReference] = []
        for (object, values) in inserts {
            if known.contains(object) {
                standIns.append(object)
            } else if let owner = try owner(object, values) {
                standIns.append(owner)
                saved.replaced.append(Replacement(number: object.number, by: owner))
            } else {
                return saved
            }
        }
        saved.inserted = standIns
        return saved
    }

    /// The object that has the unique values of one that was to be inserted.
    private func owner(
        _ object: ObjectReference, _ values: [SlotValue]
    ) throws -> ObjectReference? {
        guard let entity = model.entity(tagged: object.tag) else { return nil }
        var all = entity.defaults
        for value in values {
            guard value.slot < all.count, entity.properties[value.slot].accepts(value.value) else {
                return nil
            }
            all[value.slot] = value.value
        }
        let row = Row(all, of: entity, version: model.version)
        for index in entity.uniqueness {
            if let owner = try store.owner(of: index, row, entity) { return owner }
        }
        return nil
    }
}

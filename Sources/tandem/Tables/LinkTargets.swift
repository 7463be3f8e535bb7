import Tandem

/// The possible targets of a relationship's links: the objects of the destination, by key.
///
/// All of them are in memory, at about a hundred bytes each.
typealias LinkTargets = [LinkKey: ObjectID]

extension LinkTargets {
    /// Reads the current objects of a destination, including those of subentities.
    @MainActor init(_ link: TablePlan.Link, _ container: PersistentContainer) throws {
        self.init()
        let context = container.makeContext(name: "import")
        let position = try context.pin(at: try context.connect())
        let request = FetchRequest(entity: link.destination.name)
        let rows = ExportRows(context, at: position, label: "read \(link.destination.name)")
        try rows.each(request, []) { object in
            let value = object[link.key.name]
            if !value.isNull { self[LinkKey(value: value)] = object.id }
            return MemoryLayout<PropertyValue>.stride * object.values.count
        } before: {
        }
    }
}

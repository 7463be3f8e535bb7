import Tandem

/// The value of a unique attribute, by which a link finds its object.
///
/// Texts are the same here only if they are the same byte by byte, as in the store; Swift holds others for the same as well.
struct LinkKey: Hashable, Sendable {
    let value: Value

    static func == (a: LinkKey, b: LinkKey) -> Bool {
        switch (a.value, b.value) {
        case (.string(let a), .string(let b)), (.url(let a), .url(let b)):
            a.utf8.elementsEqual(b.utf8)
        default: a.value == b.value
        }
    }

    func hash(into hasher: inout Hasher) {
        switch value {
        case .string(let text), .url(let text):
            var text = text
            text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        default: hasher.combine(value)
        }
    }
}

/// Where the links of one relationship lead: the objects of its destination by their keys.
///
/// All of them are held, about a hundred bytes for each.
typealias LinkTargets = [LinkKey: ObjectID]

extension LinkTargets {
    /// The objects of a destination, as they are now, subentities included.
    @MainActor init(_ link: TablePlan.Link, _ container: PersistentContainer) throws {
        self.init()
        let context = container.makeContext(name: "import")
        let position = try context.pin(at: try context.connect())
        let request = FetchRequest(entity: link.destination.name)
        let rows = ExportRows(context, at: position, label: "read \(link.destination.name)")
        try rows.each(request, []) { object in
            let value = object[link.key.name]
            if !value.isNull { self[LinkKey(value: value)] = object.id }
            return MemoryLayout<Value>.stride * object.values.count
        } before: {
        }
    }
}

import TandemModel

/// A plain model of objects with values and links.
struct PlainGraph {
    /// A property of an object.
    struct Key: Hashable {
        var object: ObjectID
        var name: String
    }

    enum Plain: Hashable {
        case text(String)
        case number(Int)
        case object(ObjectID?)
    }

    /// An item and one of its tags.
    struct Link: Hashable {
        var item: ObjectID
        var tag: ObjectID
    }

    var alive: Set<ObjectID> = []
    var values: [Key: Plain] = [:]
    var links: Set<Link> = []

    func alive(_ entity: String) -> [ObjectID] {
        alive.filter { $0.entity == entity }.sorted { $0.number < $1.number }
    }

    func name(_ id: ObjectID) -> String {
        if case .text(let text) = values[Key(object: id, name: "name")] { text } else { "" }
    }

    func size(_ id: ObjectID) -> Int {
        if case .number(let size) = values[Key(object: id, name: "size")] { size } else { 0 }
    }

    /// Returns the bucket of a content object, or nil if it has none or the bucket was deleted.
    func bucket(_ id: ObjectID) -> ObjectID? {
        guard case .object(let bucket?) = values[Key(object: id, name: "bucket")] else {
            return nil
        }
        return alive.contains(bucket) ? bucket : nil
    }

    func contents(_ bucket: ObjectID) -> Set<ObjectID> {
        Set(alive("Content").filter { self.bucket($0) == bucket })
    }

    func tags(_ item: ObjectID) -> Set<ObjectID> {
        Set(links.filter { $0.item == item && alive.contains($0.tag) }.map(\.tag))
    }

    func items(_ tag: ObjectID) -> Set<ObjectID> {
        Set(links.filter { $0.tag == tag && alive.contains($0.item) }.map(\.item))
    }
}

/// The edits of one context.
struct PlainEdits {
    var inserted: Set<ObjectID> = []
    var deleted: Set<ObjectID> = []
    /// Objects deleted by a cascade over a link of a lower layer.
    ///
    /// They are shown as deleted here; the cascade itself is left to the layer that this one is
    /// saved into.
    var implied: Set<ObjectID> = []
    var values: [PlainGraph.Key: PlainGraph.Plain] = [:]
    var links: [PlainGraph.Link: Bool] = [:]

    /// Returns the graph with these edits on top.
    func laid(over below: PlainGraph) -> PlainGraph {
        var graph = below
        graph.alive = below.alive.union(inserted).subtracting(deleted).subtracting(implied)
        graph.values.merge(values) { $1 }
        for (link, isAdded) in links {
            if isAdded { graph.links.insert(link) } else { graph.links.remove(link) }
        }
        return graph
    }

    mutating func set(
        _ value: PlainGraph.Plain, _ key: PlainGraph.Key, below: PlainGraph
    ) {
        let isBack = below.alive.contains(key.object) && below.values[key] == value
        values[key] = isBack ? nil : value
    }

    mutating func set(_ link: PlainGraph.Link, _ isLinked: Bool, below: PlainGraph) {
        guard laid(over: below).links.contains(link) != isLinked else { return }
        links[link] = below.links.contains(link) == isLinked ? nil : isLinked
    }

    /// Deletes an object, and the contents of a deleted bucket.
    mutating func delete(_ id: ObjectID, below: PlainGraph, isImplied: Bool = false) {
        let contents = laid(over: below).contents(id)
        if inserted.remove(id) != nil {
            for content in contents {
                set(.object(nil), .init(object: content, name: "bucket"), below: below)
            }
        } else if isImplied {
            implied.insert(id)
        } else {
            deleted.insert(id)
        }
        values = values.filter { $0.key.object != id }
        for content in contents {
            let lies = below.values[.init(object: content, name: "bucket")] == .object(id)
            delete(content, below: below, isImplied: lies)
        }
    }
}

/// A store and contexts, each of which saves into the previous one; the first saves into the store.
struct NestedGraph {
    var store = PlainGraph()
    var levels: [PlainEdits]

    init(levels count: Int) { levels = Array(repeating: PlainEdits(), count: count) }

    /// Returns the graph that a context shows; level -1 is the store.
    func graph(_ level: Int) -> PlainGraph {
        level < 0 ? store : levels[level].laid(over: graph(level - 1))
    }

    /// Saves a context on top of the later edits in the layer below it.
    mutating func save(_ level: Int) {
        let edits = levels[level]
        levels[level] = PlainEdits()
        if level == 0 { return saveIntoStore(edits) }
        let below = graph(level - 2)
        levels[level - 1].inserted.formUnion(edits.inserted)
        let parent = graph(level - 1)
        for (key, value) in edits.values where parent.alive.contains(key.object) {
            levels[level - 1].set(value, key, below: below)
        }
        for (link, isLinked) in edits.links
        where parent.alive.isSuperset(of: [link.item, link.tag]) {
            levels[level - 1].set(link, isLinked, below: below)
        }
        for id in edits.deleted where parent.alive.contains(id) {
            levels[level - 1].delete(id, below: below)
        }
    }

    private mutating func saveIntoStore(_ edits: PlainEdits) {
        store = edits.laid(over: store)
        for content in store.alive("Content") {
            if case .object(let bucket?) = store.values[.init(object: content, name: "bucket")],
                !store.alive.contains(bucket)
            {
                store.alive.remove(content)
            }
        }
    }
}

import TandemModel

/// What was edited, in groups that are undone and redone as one.
///
/// An entry holds the edits that an object had before; taking a group back exchanges them, which gives the group of the other direction.
final class UndoStack {
    /// The edits that an object had; as long as there is one the context does not forget the object's record.
    final class Entry {
        let record: ObjectRecord
        fileprivate(set) var edits: Edits
        let isMissing: Bool

        init(_ record: ObjectRecord) {
            self.record = record
            edits = record.pending
            isMissing = record.isMissing
            record.steps += 1
        }

        deinit { record.steps -= 1 }
    }

    /// Whether edits are noted at all.
    var isEnabled = false
    /// How many groups are kept, see ``ClientLimits/undoSteps``; the oldest go first.
    private let limit: Int
    private(set) var undone: [[Entry]] = []
    private(set) var done: [[Entry]] = []
    private var open: [Entry] = []
    private var depth = 0

    init(limit: Int) { self.limit = max(1, limit) }

    var canUndo: Bool { !done.isEmpty || !open.isEmpty }
    var canRedo: Bool { !undone.isEmpty }

    func begin() { depth += 1 }

    func end() {
        precondition(depth > 0, "An undo group ends that never began.")
        depth -= 1
        if depth == 0 { close() }
    }

    /// Notes what an object was like before an edit.
    func note(_ record: ObjectRecord) {
        guard isEnabled else { return }
        open.append(Entry(record))
        undone.removeAll()
        if depth == 0 { close() }
    }

    private func close() {
        guard !open.isEmpty else { return }
        done.append(open)
        open.removeAll()
        if done.count > limit { done.removeFirst(done.count - limit) }
    }

    /// Takes the last group off to be exchanged; ``push(_:isUndo:)`` puts its counterpart on the other stack.
    func pop(isUndo: Bool) -> [Entry]? {
        close()
        return isUndo ? done.popLast() : undone.popLast()
    }

    func push(_ group: [Entry], isUndo: Bool) {
        if isUndo { undone.append(group) } else { done.append(group) }
    }

    /// Forgets an object that is gone for good.
    func forget(_ record: ObjectRecord) {
        guard canUndo || canRedo else { return }
        func without(_ groups: [[Entry]]) -> [[Entry]] {
            groups.map { $0.filter { $0.record !== record } }.filter { !$0.isEmpty }
        }
        done = without(done)
        undone = without(undone)
        open.removeAll { $0.record === record }
    }

    /// Lets relationships lead to another object.
    func replace(_ old: ObjectReference, by new: ObjectReference) {
        for entry in (done + undone + [open]).joined() { entry.edits.replace(old, by: new) }
    }

    func clear() {
        // Without it nothing is noted.
        guard isEnabled else { return }
        done.removeAll()
        undone.removeAll()
        open.removeAll()
    }
}

extension ManagedObjectContext {
    /// Whether edits can be undone; off by default.
    ///
    /// Turning it off forgets what was noted.
    public var allowsUndo: Bool {
        get { undoStack.isEnabled }
        set {
            if !newValue { undoStack.clear() }
            undoStack.isEnabled = newValue
        }
    }

    /// Whether there is something to undo.
    public var canUndo: Bool { undoStack.canUndo }

    /// Whether there is something to redo.
    public var canRedo: Bool { undoStack.canRedo }

    /// Makes all edits in `body` one step of ``undo()``; groups may lie in each other.
    ///
    /// Outside of a group every call is a step of its own.
    public func undoGroup<Result>(_ body: () throws -> Result) rethrows -> Result {
        undoStack.begin()
        defer { undoStack.end() }
        return try body()
    }

    /// Takes back the last step; nothing happens if there is none.
    ///
    /// A save, a rollback and a reset forget all steps. What others saved stays merged.
    public func undo() { exchange(isUndo: true) }

    /// Does the last step that was undone again.
    public func redo() { exchange(isUndo: false) }

    private func exchange(isUndo: Bool) {
        guard let group = undoStack.pop(isUndo: isUndo) else { return }
        var counterpart: [UndoStack.Entry] = []
        for entry in group.reversed() {
            let record = entry.record
            counterpart.append(UndoStack.Entry(record))
            edited.remove(record)
            touch(record, .edit)
            record.pending = entry.edits
            record.isMissing = entry.isMissing
            let object = object(of: record)
            if !record.pending.isEmpty { edited.add(object) }
            notifyObservers(of: record.reference.number)
            noteEnds(of: record)
        }
        undoStack.push(counterpart, isUndo: isUndo)
    }
}

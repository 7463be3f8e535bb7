import Tandem
import TandemModel
import TestSupport
import TestWorlds
import Testing

/// Three processes that edit ordered relationships at random, under every merge policy.
@MainActor @Suite struct OrderLawTests {
    @Test func `law 4: arrays reflect their edits, and have one order everywhere once saved`()
        throws
    {
        for run in 0..<Seed.worlds(6, deep: 12) {
            let world = try OrderedWorld(seed: Seed.value(run))
            for step in 0..<50 {
                let what = "TANDEM_SEED=\(Seed.value(run)) step \(step)"
                do {
                    try world.step()
                } catch {
                    Issue.record("\(what): \(error) after \(world.log.suffix(8))")
                    return
                }
                try #require(
                    world.problems.isEmpty,
                    "\(what): \(world.problems.prefix(3)) after \(world.log.suffix(8))")
            }
        }
    }
}

/// The contexts, the log of steps, and the problems found.
@MainActor private final class OrderedWorld {
    private let fixture: Fixture
    private let contexts: [ManagedObjectContext]
    private var random: SplitMix
    private var squads: [ObjectID] = []
    private(set) var log: [String] = []
    private(set) var problems: [String] = []

    init(seed: UInt64) throws {
        let fixture = try Fixture(orderedTypes)
        self.fixture = fixture
        random = SplitMix(seed)
        contexts = try (0..<3).map { index in
            let context = fixture.container("c\(index)").makeContext(name: "c\(index)")
            // A context that follows an entity merges other processes' changes to its objects.
            for entity in ["Squad", "Runner", "Song"] {
                _ = try context.fetch(FetchRequest(entity: entity))
            }
            context.allowsUndo = true
            return context
        }
        for _ in 0..<2 {
            let squad = try contexts[0].insert(Squad.self)
            for _ in 0..<4 { squad.runners.append(try contexts[0].insert(Runner.self)) }
            for _ in 0..<3 { squad.songs.append(try contexts[0].insert(Song.self)) }
            squads.append(squad.id)
        }
        try contexts[0].save()
        try meet()
    }

    // MARK: Steps

    func step() throws {
        let context = contexts[random.next(3)]
        switch random.next(12) {
        case 0..<8:
            let name = ["runners", "runners", "songs"][random.next(3)]
            let squad = try context.object(with: squads[random.next(squads.count)])
            try edit(squad, name, context)
        case 8, 9: try save(context)
        case 10:
            _ = try context.fetch(FetchRequest(entity: "Song"))
            log.append("\(context.name) merges")
        default:
            for context in contexts { try save(context) }
            try meet()
        }
    }

    private func ids(_ squad: ManagedObject, _ name: String) -> [ObjectID] {
        squad.orderedObjects(name).map(\.id)
    }

    private func edit(
        _ squad: ManagedObject, _ name: String, _ context: ManagedObjectContext
    ) throws {
        var before = ids(squad, name)
        var wanted = squad.orderedObjects(name)
        var isLast: ObjectID?
        // Earlier steps are made permanent, so that undo reverts only this one.
        context.allowsUndo = false
        context.allowsUndo = true
        switch random.next(7) {
        case 0:
            let new = try context.insert(name == "runners" ? "Runner" : "Song")
            wanted.insert(new, at: random.next(wanted.count + 1))
            squad.setOrderedObjects(wanted, for: name)
        case 1 where !wanted.isEmpty:
            let member = wanted.remove(at: random.next(wanted.count))
            squad.remove(member, from: name)
        case 2 where !wanted.isEmpty:
            let member = wanted.remove(at: random.next(wanted.count))
            let index = random.next(wanted.count + 1)
            wanted.insert(member, at: index)
            squad.insert(member, into: name, at: index)
        case 3:
            wanted.shuffle(using: &random)
            if !wanted.isEmpty, random.next(2) == 0 { wanted.removeLast() }
            squad.setOrderedObjects(wanted, for: name)
        case 4 where name == "runners":
            // A runner of another squad, or without a squad, added through its own end.
            let all = try context.fetch(FetchRequest(entity: "Runner"))
            guard let runner = all.isEmpty ? nil : all[random.next(all.count)] else { return }
            // A fetch merges first.
            (wanted, before) = (squad.orderedObjects(name), ids(squad, name))
            guard !wanted.contains(runner) else { return }
            runner.setObject(squad, for: "squad")
            isLast = runner.id
            let shown = ids(squad, name)
            expect(shown.filter { $0 != runner.id }, wanted.map(\.id), squad, name)
            expect(Set(shown), Set(wanted.map(\.id) + [runner.id]), squad, name)
        case 5 where !wanted.isEmpty:
            context.delete(wanted.remove(at: random.next(wanted.count)))
        default:
            let new = try context.insert(name == "runners" ? "Runner" : "Song")
            squad.add(new, to: name)
            wanted.append(new)
        }
        log.append("\(context.name) \(squad.id).\(name) \(before) → \(ids(squad, name))")
        if isLast == nil { expect(ids(squad, name), wanted.map(\.id), squad, name) }
        if random.next(3) == 0 { backAndForth(squad, name, context, before) }
    }

    /// Undoes the edit and redoes it.
    private func backAndForth(
        _ squad: ManagedObject, _ name: String, _ context: ManagedObjectContext,
        _ before: [ObjectID]
    ) {
        let after = ids(squad, name)
        while context.canUndo { context.undo() }
        expect(ids(squad, name), before, squad, "\(name), undone")
        while context.canRedo { context.redo() }
        expect(ids(squad, name), after, squad, "\(name), redone")
    }

    private func expect<Shown: Equatable>(
        _ shown: Shown, _ wanted: Shown, _ squad: ManagedObject, _ name: String
    ) {
        if shown != wanted { problems.append("\(squad.id).\(name): \(shown), not \(wanted)") }
    }

    // MARK: Saving

    private func save(_ context: ManagedObjectContext) throws {
        let policies: [MergePolicy] = [.error, .storeTrump, .objectTrump, .overwrite, .rollback]
        let policy = policies[random.next(policies.count)]
        do {
            try context.save(policy: policy)
            log.append("\(context.name) saves under \(policy)")
        } catch let error as TandemError
            where error.code == .conflict || error.code == .unknownObject
        {
            log.append("\(context.name) is refused: \(error.code)")
            context.rollback()
        }
        // A fetch merges first; afterwards the context shows what a new context shows.
        _ = try context.fetch(FetchRequest(entity: "Song"))
        try compare(context, fresh())
    }

    private func fresh() -> ManagedObjectContext {
        fixture.container("fresh").makeContext(name: "fresh")
    }

    private func compare(
        _ context: ManagedObjectContext, _ other: ManagedObjectContext
    ) throws {
        for id in squads {
            for name in ["runners", "songs"] {
                let theirs = try other.existingObject(with: id)
                let mine = try context.existingObject(with: id)
                expect(ids(mine, name), ids(theirs, name), mine, "\(name) of \(context.name)")
            }
        }
    }

    /// Checks that all contexts, without edits and at one position, show the same order.
    private func meet() throws {
        let anew = fresh()
        for context in contexts {
            context.rollback()
            _ = try context.fetch(FetchRequest(entity: "Song"))
            try compare(context, anew)
        }
        log.append("all meet")
    }
}

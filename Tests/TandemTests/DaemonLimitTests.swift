import Tandem
import TandemDaemon
import TandemQuery
import TestSupport
import Testing

/// A client respects the limits in the daemon's welcome.
@MainActor
@Suite(.ownThread) struct DaemonLimitTests {
    private func controller(
        _ context: ManagedObjectContext
    ) throws -> FetchedResultsController<ManagedObject> {
        try FetchedResultsController(
            fetchRequest: FetchRequest(entity: "Content", sort: ["name"]), context: context)
    }

    @Test
    func `law 8: one controller more than the daemon allows is refused until another is released`()
        throws
    {
        var limits = DaemonLimits()
        limits.controllers = 2
        let fixture = try Fixture(limits: limits)
        let container = fixture.container()
        let context = container.viewContext
        let first = try controller(context)
        try first.performFetch()
        var second: FetchedResultsController<ManagedObject>? = try controller(
            container.makeContext(name: "other"))
        try second?.performFetch()
        // A repeated fetch does not take a second controller slot.
        try second?.performFetch()
        let third = try controller(context)
        let error = #expect(throws: TandemError.self) { try third.performFetch() }
        #expect(error?.code == .limitExceeded)
        #expect(error?.message.contains("limits.controllers is 2") == true)
        weak let gone = second
        second = nil
        // The context does not retain its controllers.
        #expect(gone == nil)
        try third.performFetch()
        // Another connection has slots of its own.
        let others = try controller(fixture.container().viewContext)
        try others.performFetch()
    }

    @Test func `law 8: small frames and few requests in flight carry large saves and many reads`()
        throws
    {
        var limits = DaemonLimits()
        limits.frameBytes = 4_096
        limits.requestsInFlight = 2
        limits.batchSaves = 1
        limits.ringBytes = 4_096
        let fixture = try Fixture(limits: limits)
        let saver = fixture.container().viewContext
        let follower = fixture.container().viewContext
        var position: Position?
        for round in 0..<5 {
            for number in 0..<20 {
                let content = try saver.insert(Content.self)
                content.name = String(repeating: "n", count: 2_000)
                content.size = round * 20 + number
            }
            position = try saver.save()
        }
        #expect(position != nil)
        let found = try follower.fetch(FetchRequest(entity: "Content", sort: ["size"]))
        #expect(found.count == 100)
    }

    @Test func `law 8: a save above a small transaction limit is refused, a smaller one succeeds`()
        throws
    {
        var limits = DaemonLimits()
        limits.transactionBytes = 64 << 10
        limits.blobBytes = 64 << 10
        let fixture = try Fixture(limits: limits)
        let context = fixture.container().viewContext
        for _ in 0..<100 {
            let content = try context.insert(Content.self)
            content.name = String(repeating: "n", count: 2_000)
        }
        let error = #expect(throws: TandemError.self) { try context.save() }
        #expect(error?.code == .limitExceeded, "\(String(describing: error))")
        context.rollback()
        _ = try context.insert(Content.self)
        try context.save()
    }
}

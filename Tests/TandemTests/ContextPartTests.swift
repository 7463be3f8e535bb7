import TandemModel
import Testing

@testable import Tandem

/// The lifetime of a context's parts.
@MainActor @Suite struct ContextPartTests {
    @Test func `a context that its own scheduled work releases lives until the work ends`()
        async throws
    {
        let container = try FakeDaemon(buckets).container()
        var context: ManagedObjectContext? = container.makeContext(name: "short-lived")
        weak let released = context
        let observation = context?.onObjectsDidChange { _ in }
        context?.reporter.postpone { context = nil }
        while released != nil { await Task.yield() }
        #expect(context == nil)
        _ = observation
    }
}

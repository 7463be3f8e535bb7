import Tandem
import TandemIO

/// Reads the objects of a request at one position, page by page.
@MainActor struct ExportRows {
    /// The number of rows in the first page, and the maximum number in a page.
    ///
    /// A page costs time for all rows before it, so pages grow as long as their rows are small.
    private static let pageRows = (first: 1_000, most: 32_000)
    /// The approximate size in bytes above which pages do not grow further.
    private static let pageBytes = 8 << 20
    private let context: ManagedObjectContext
    private let position: Position
    /// The label of the progress bar.
    private let label: String

    init(_ context: ManagedObjectContext, at position: Position, label: String) {
        self.context = context
        self.position = position
        self.label = label
    }

    /// Calls `body` with every object, including the contents of long values; `body` returns the
    /// object's size in bytes.
    ///
    /// Calls `before` once before the first object, after the daemon has accepted the request.
    func each(
        _ request: FetchRequest<ManagedObject>, _ members: [String],
        _ body: (ObjectSnapshot) -> Int,
        before: () -> Void
    ) throws {
        let progress = ProgressBar(label)
        defer { progress.end() }
        let total = try context.count(for: request, at: position)
        before()
        var request = request
        var rows = Self.pageRows.first
        request.offset = 0
        while request.offset < total, !StandardStream.output.isClosed {
            request.limit = rows
            do {
                // The pin is renewed for each page.
                try context.pin(at: position)
                let page = try context.fetch(request, at: position, members: members)
                guard !page.isEmpty else { return }
                var bytes = 0
                for var object in page {
                    object.values = try object.values.mapValues {
                        try context.tools.withContent($0)
                    }
                    bytes += body(object)
                }
                request.offset += page.count
                progress.update(UInt64(request.offset), of: UInt64(total))
                if bytes * 2 < Self.pageBytes { rows = min(rows * 2, Self.pageRows.most) }
            } catch let error as TandemError where error.code == .limitExceeded && rows > 1 {
                rows /= 2
            }
        }
    }
}

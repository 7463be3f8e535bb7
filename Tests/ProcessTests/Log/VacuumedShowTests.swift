import Foundation
import Tandem
import TandemIO
import Testing

/// `tandem show` of objects that were inserted before the log begins, or after the given position.
@Suite @MainActor struct VacuumedShowTests {
    let place: Place

    init() throws { place = try Place() }

    private static let model = """
        {"entities": {
            "Book": {"attributes": {"title": {"type": "string"}},
                "relationships": {"pages": {"to": "Page", "toMany": true, "inverse": "book"}}},
            "Cover": {"parent": "Book"},
            "Page": {"attributes": {"text": {"type": "string"}, "number": {"type": "int"}},
                "relationships": {"book": {"to": "Book", "inverse": "pages"}}}}}
        """

    /// Saves a book (1), a page (2) of it and another book (3) at position 2.
    ///
    /// The page is changed at 12, another page (13) is inserted at 13, and the other book is
    /// deleted at 14.
    private func play() throws {
        let container = PersistentContainer(
            model: try ManagedObjectModel(parsing: Self.model), socket: place.socket,
            author: "writer")
        defer { container.close() }
        let context = container.makeContext(name: "main")
        let book = try context.insert("Book")
        book["title"] = .string("Atlas")
        let page = try context.insert("Page")
        page.setObject(book, for: "book")
        let other = try context.insert("Book")
        #expect(try context.save().number == 2)
        // Each save fills about half a segment.
        for _ in 3...11 {
            try context.insert("Page")["text"] = .string(String(repeating: "x", count: 30_000))
            try context.save()
        }
        page["number"] = .int(7)
        try context.save()
        let late = try context.insert("Page")
        try context.save()
        context.delete(other)
        #expect(try context.save().number == 14)
        #expect([book, page, late].map(\.id.number) == [1, 2, 13])
    }

    private func show(_ words: [String], on source: [String]) throws -> CommandRun {
        try CommandRun("tandem", ["show"] + words + source)
    }

    private func first(_ source: [String]) throws -> UInt64 {
        let run = try CommandRun(
            "tandem", ["log", "-o", "json", "--output-fields", "position"] + source)
        return UInt64(run.json.first?["position"]?.int ?? 0)
    }

    /// Checks the output that a daemon and a directory have in common.
    private func expectAll(_ source: [String], _ place: SourceLocation = #_sourceLocation) throws {
        let begins = try first(source)
        #expect(begins > 2, sourceLocation: place)
        let remark = "; the values come from the store, because the journal begins at \(begins)"
        let book = try show(["Book/1"], on: source)
        #expect(book.code == 0, "\(book.output)", sourceLocation: place)
        #expect(
            book.lines == [
                "Book/1 as of 2\(remark)", "    pages Page/2", "    title \"Atlas\"",
            ], sourceLocation: place)
        let json = try show(["Book/1", "-o", "json"], on: source).json.first
        #expect(json?["logBegins"]?.int == Int64(begins), sourceLocation: place)
        #expect(json?["isWhole"] == .bool(true) && json?["version"]?.int == 2)
        // The log has the page's last change, but not its insertion.
        let page = try show(["Page/2"], on: source)
        #expect(page.lines.first == "Page/2 as of 12\(remark)", "\(page.output)")
        #expect(page.lines.contains("    book   Book/1"), "\(page.output)")
        expect(
            try show(["Page/13", "--at", "12"], on: source),
            "did not exist at position 12; it was inserted at 13")
        expect(try show(["Book/13"], on: source), "Book/13 does not exist, neither in the store")
        expect(try show(["Book/77"], on: source), "Book/77 does not exist, neither in the store")
        expect(try show(["Cover/1"], on: source), "Cover/1 does not exist, neither in the store")
        expect(try show(["Book/3"], on: source), "Book/3 was deleted at position 14")
        expect(try show(["Book/1", "--at", "15"], on: source), "the last one is 14")
    }

    private func expect(
        _ run: CommandRun, _ says: String, _ place: SourceLocation = #_sourceLocation
    ) {
        #expect(run.code == 1 && run.lines.count == 1, "\(run.output)", sourceLocation: place)
        #expect(run.output.contains(says), "\(run.output)", sourceLocation: place)
    }

    @Test
    func `objects that the log no longer has are shown from the store, and later ones reported`()
        throws
    {
        let daemon = try place.serveSmallSegments()
        try play()
        let online = ["--socket", place.socket]
        let whole = try show(["Book/1"], on: online)
        #expect(whole.lines.first == "Book/1 as of 2", "\(whole.output)")
        expect(try show(["Page/13", "--at", "1"], on: online), "it was inserted at 13")
        let vacuum = try CommandRun("tandem", ["vacuum", "--before", "9", "--yes"] + online)
        #expect(vacuum.code == 0, "\(vacuum.output)")
        try expectAll(online)
        // The log has nothing about the other book before its deletion, but a daemon undoes the
        // deletion.
        let gone = try show(["Book/3", "--at", "13"], on: online)
        #expect(
            gone.code == 0 && gone.lines.first?.hasPrefix("Book/3 as of 13;") ?? false,
            "\(gone.output)")
        #expect(daemon.end(SIGTERM) == 0)
        let offline = ["-D", place.store]
        try expectAll(offline)
        let then = try show(["Book/3", "--at", "13"], on: offline)
        #expect(then.code == 5 && then.output.contains("the object was next changed at 14"))
    }
}

internal import ArgumentParser
internal import Foundation
internal import Outcomes

/// The only entry point of this module.
public enum Program {
    /// Prepares the process. Must run before anything opens a descriptor.
    public static func prepareProcess() {
        StandardStreams.fillGaps()
        CrashReports.disable()
        // The library used by OpenSSL's tpm2 provider prints every TPM error to standard error; our own message covers
        // it.
        setenv("TSS2_LOG", "all+none", 0)
    }

    /// Runs the command line of this process and takes over its signals. Returns the exit code (`docs/exit-codes.md`).
    public static func run() async -> Int32 {
        guardHelpWidth()
        let interruption = Interruption()
        let monitor = SignalMonitor(interruption)
        defer { withExtendedLifetime(monitor) {} }
        let arguments = CommandLine.arguments.isEmpty ? [] : Array(processArguments().dropFirst())
        let code = await run(arguments, in: .process(interruption: interruption))
        return code.rawValue
    }

    static func run(_ given: [String], in context: CommandContext) async -> ExitCode {
        let arguments = SyncVerify.namingServerFiles(in: given)
        let command: any ParsableCommand
        do {
            command = try MediactlCommand.parseAsRoot(arguments)
        } catch {
            return report(ParseFailure(error, arguments: arguments), in: context)
        }
        guard var runnable = command as? any ContextCommand else {
            return runBuiltIn(command, arguments: arguments, in: context)
        }
        if let failure = ParseFailure.unusedOption(of: runnable, arguments: arguments) {
            return report(failure, in: context)
        }
        var context = context
        context.arguments = arguments
        return await run(&runnable, in: context)
    }

    /// Help and version are results as well: failing to write them is an error.
    private static func report(_ failure: ParseFailure, in context: CommandContext) -> ExitCode {
        let code = failure.report(in: context)
        return Console(context, schema: "mediactl.error/1", preferences: OutputPreferences()).exitCode(code)
    }

    /// Help and the like: ArgumentParser returns the text by throwing.
    private static func runBuiltIn(
        _ command: any ParsableCommand,
        arguments: [String],
        in context: CommandContext
    ) -> ExitCode {
        var command = command
        do {
            try command.run()
            return .success
        } catch {
            return report(ParseFailure(error, arguments: arguments), in: context)
        }
    }

    private static func run(_ command: inout any ContextCommand, in context: CommandContext) async -> ExitCode {
        let console = Console(context, schema: command.recordSchema, preferences: command.global.outputPreferences)
        context.interruption.onEnd { request, isHandled in
            end(request, afterGrace: isHandled, console)
        }
        defer { console.finishClosingWork() }
        do {
            try console.requireOutput()
            return console.exitCode(try await command.run(in: console))
        } catch {
            var userFacingError = ErrorCatalog.userFacingError(of: error)
            if userFacingError.exitCode == .interrupt, let signal = context.interruption.signal {
                userFacingError.exitCode = signal.exitCode
            }
            if error is CredentialError, context.interruption.signal == .interrupt {
                console.endAtQuestion(userFacingError)
            } else {
                console.fail(userFacingError)
            }
            return console.exitCode(userFacingError.exitCode)
        }
    }

    /// Exits after a signal. Canceled work gets a short time to write its summary; the journal is consistent at any
    /// time.
    private static func end(_ request: Interruption.Request, afterGrace: Bool, _ console: Console) {
        let leave: @Sendable () -> Void = {
            // A blocked reader of standard output must not delay the exit any longer.
            DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(500)) {
                _exit(request.signal.exitCode.rawValue)
            }
            let userFacingError = UserFacingError(
                .interrupted,
                "terminated by \(request.signal.name)",
                exitCode: request.signal.exitCode
            )
            if request.signal == .interrupt, console.context.interruption.isPrompting {
                console.announce([""])
                console.endAtQuestion(userFacingError)
            } else {
                console.fail(userFacingError)
            }
            _exit(request.signal.exitCode.rawValue)
        }
        guard afterGrace, request.count < 3 else { return leave() }
        DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(5), execute: leave)
    }

    /// ArgumentParser 1.8 traps on help narrower than 27 columns, whether from `COLUMNS` or from the terminal.
    private static func guardHelpWidth() {
        let named = ProcessInfo.processInfo.environment["COLUMNS"].flatMap { Int($0) }
        let columns = named ?? Terminal.process().columns(STDOUT_FILENO)
        if columns < 40 {
            setenv("COLUMNS", "80", 1)
        }
    }

    /// `CommandLine.arguments` replaces invalid UTF-8; this keeps every byte.
    private static func processArguments() -> [String] {
        (0..<Int(CommandLine.argc)).compactMap { index in
            // The C runtime keeps argv allocated and unchanged for the lifetime of the process.
            CommandLine.unsafeArgv[index].map { argument in
                RawArguments.text(of: Array(UnsafeRawBufferPointer(start: argument, count: strlen(argument))))
            }
        }
    }
}

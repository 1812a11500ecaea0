// Written by scripts/repack_ptx.py from repack_kernel.cuh; NVRTC 13.0.88.
#include "client/weights/repack_ptx.hpp"

namespace cubind {

// clang-format off
const char kRepackPtx[] = R"PTX(.version 7.0
.target sm_75
.address_size 64
.visible .entry cubind_repack(
	.param .align 8 .b8 cubind_repack_param_0[104]
)
{
	.reg .pred 	%p<65>;
	.reg .b16 	%rs<9>;
	.reg .b32 	%r<336>;
	.reg .b64 	%rd<160>;
	ld.param.v2.u32 	{%r100, %r101}, [cubind_repack_param_0+72];
	ld.param.v2.u32 	{%r102, %r103}, [cubind_repack_param_0+64];
	ld.param.v2.u32 	{%r104, %r105}, [cubind_repack_param_0+80];
	ld.param.v2.u32 	{%r106, %r107}, [cubind_repack_param_0+88];
	ld.param.u32 	%r99, [cubind_repack_param_0+96];
	ld.param.u64 	%rd59, [cubind_repack_param_0+56];
	ld.param.u64 	%rd58, [cubind_repack_param_0+48];
	ld.param.u64 	%rd57, [cubind_repack_param_0+40];
	ld.param.u64 	%rd56, [cubind_repack_param_0+32];
	ld.param.u64 	%rd55, [cubind_repack_param_0+24];
	ld.param.u64 	%rd54, [cubind_repack_param_0+16];
	ld.param.u64 	%rd53, [cubind_repack_param_0+8];
	ld.param.u64 	%rd52, [cubind_repack_param_0];
	cvta.to.global.u64 	%rd1, %rd52;
	cvta.to.global.u64 	%rd3, %rd53;
	cvta.to.global.u64 	%rd4, %rd54;
	cvta.to.global.u64 	%rd6, %rd55;
	cvta.to.global.u64 	%rd7, %rd57;
	cvta.to.global.u64 	%rd9, %rd58;
	cvta.to.global.u64 	%rd10, %rd59;
	mov.u32 	%r108, %nctaid.x;
	mov.u32 	%r109, %ntid.x;
	mul.wide.u32 	%rd11, %r108, %r109;
	mov.u32 	%r110, %ctaid.x;
	mul.wide.u32 	%rd60, %r110, %r109;
	mov.u32 	%r111, %tid.x;
	cvt.u64.u32 	%rd61, %r111;
	add.s64 	%rd154, %rd60, %rd61;
	cvt.u64.u32 	%rd13, %r100;
	cvt.u64.u32 	%rd14, %r101;
	mul.wide.u32 	%rd62, %r101, %r100;
	shl.b64 	%rd15, %rd62, 5;
	setp.ge.u64 	%p3, %rd154, %rd15;
	@%p3 bra 	$L__BB0_40;
	setp.eq.s64 	%p4, %rd58, 0;
	selp.b32 	%r6, 8, 0, %p4;
	cvt.u64.u32 	%rd16, %r102;
	shr.u32 	%r112, %r102, 3;
	cvt.u64.u32 	%rd17, %r112;
	add.s32 	%r113, %r104, -1;
	mul.wide.u32 	%rd18, %r113, %r112;
	cvta.to.global.u64 	%rd19, %rd56;
	mov.u64 	%rd151, %rd154;
$L__BB0_2:
	shr.u64 	%rd21, %rd151, 5;
	and.b64  	%rd63, %rd21, 576460748008456192;
	setp.eq.s64 	%p5, %rd63, 0;
	@%p5 bra 	$L__BB0_4;
	div.u64 	%rd152, %rd21, %rd13;
	mul.lo.s64 	%rd64, %rd152, %rd13;
	sub.s64 	%rd153, %rd21, %rd64;
	bra.uni 	$L__BB0_5;
$L__BB0_4:
	cvt.u32.u64 	%r114, %rd13;
	cvt.u32.u64 	%r115, %rd21;
	div.u32 	%r116, %r115, %r114;
	mul.lo.s32 	%r117, %r116, %r114;
	sub.s32 	%r118, %r115, %r117;
	cvt.u64.u32 	%rd152, %r116;
	cvt.u64.u32 	%rd153, %r118;
$L__BB0_5:
	cvt.u32.u64 	%r120, %rd151;
	and.b32  	%r121, %r120, 31;
	and.b64  	%rd65, %rd152, 4294967295;
	mul.lo.s64 	%rd66, %rd153, %rd14;
	add.s64 	%rd67, %rd65, %rd66;
	shl.b64 	%rd68, %rd67, 7;
	shl.b32 	%r122, %r120, 2;
	and.b32  	%r123, %r122, 124;
	cvt.u64.u32 	%rd69, %r123;
	or.b64  	%rd28, %rd68, %rd69;
	cvt.u32.u64 	%r124, %rd153;
	shl.b32 	%r125, %r124, 4;
	shr.u32 	%r126, %r121, 2;
	or.b32  	%r7, %r125, %r126;
	cvt.u32.u64 	%r127, %rd152;
	shl.b32 	%r128, %r127, 6;
	shl.b32 	%r129, %r120, 1;
	and.b32  	%r130, %r129, 6;
	or.b32  	%r8, %r128, %r130;
	mov.u32 	%r306, 0;
$L__BB0_6:
	.pragma "nounroll";
	shl.b32 	%r131, %r306, 4;
	add.s32 	%r10, %r8, %r131;
	@%p4 bra 	$L__BB0_29;
	setp.eq.s64 	%p7, %rd53, 0;
	@%p7 bra 	$L__BB0_19;
	mov.u32 	%r307, 0;
	mov.u32 	%r308, %r307;
	mov.u32 	%r323, %r307;
$L__BB0_9:
	.pragma "nounroll";
	shl.b32 	%r135, %r308, 3;
	and.b32  	%r136, %r135, 8;
	add.s32 	%r14, %r7, %r136;
	shl.b32 	%r137, %r308, 2;
	and.b32  	%r138, %r137, 8;
	shr.u32 	%r139, %r308, 2;
	add.s32 	%r140, %r10, %r139;
	add.s32 	%r310, %r140, %r138;
	setp.lt.u32 	%p8, %r14, %r102;
	setp.lt.u32 	%p9, %r310, %r103;
	and.pred  	%p10, %p8, %p9;
	@%p10 bra 	$L__BB0_12;
	bra.uni 	$L__BB0_10;
$L__BB0_12:
	setp.eq.s64 	%p13, %rd55, 0;
	@%p13 bra 	$L__BB0_14;
	mul.wide.u32 	%rd74, %r310, 4;
	add.s64 	%rd75, %rd6, %rd74;
	ld.global.u32 	%r310, [%rd75];
$L__BB0_14:
	setp.eq.s32 	%p14, %r105, 0;
	@%p14 bra 	$L__BB0_16;
	cvt.u64.u32 	%rd76, %r310;
	mul.lo.s64 	%rd77, %rd76, %rd17;
	shr.u32 	%r152, %r14, 3;
	cvt.u64.u32 	%rd78, %r152;
	add.s64 	%rd79, %rd77, %rd78;
	shl.b64 	%rd80, %rd79, 2;
	add.s64 	%rd81, %rd1, %rd80;
	and.b32  	%r153, %r14, 6;
	shr.u32 	%r154, %r153, 1;
	shl.b32 	%r155, %r14, 2;
	and.b32  	%r156, %r155, 4;
	or.b32  	%r157, %r156, %r154;
	shl.b32 	%r158, %r157, 2;
	ld.global.u32 	%r159, [%rd81];
	shr.u32 	%r311, %r159, %r158;
	bra.uni 	$L__BB0_17;
$L__BB0_10:
	setp.ge.u32 	%p11, %r14, %r102;
	mov.u32 	%r312, %r6;
	@%p11 bra 	$L__BB0_18;
	setp.eq.s32 	%p12, %r105, 0;
	shr.u32 	%r141, %r14, 3;
	cvt.u64.u32 	%rd70, %r141;
	add.s64 	%rd71, %rd18, %rd70;
	shl.b64 	%rd72, %rd71, 2;
	add.s64 	%rd73, %rd3, %rd72;
	ld.global.u32 	%r142, [%rd73];
	add.s32 	%r143, %r142, %r106;
	and.b32  	%r144, %r14, 7;
	shr.u32 	%r145, %r144, 1;
	shl.b32 	%r146, %r14, 2;
	and.b32  	%r147, %r146, 4;
	or.b32  	%r148, %r147, %r145;
	selp.b32 	%r149, %r144, %r148, %p12;
	shl.b32 	%r150, %r149, 2;
	shr.u32 	%r151, %r143, %r150;
	and.b32  	%r312, %r151, 15;
	bra.uni 	$L__BB0_18;
$L__BB0_16:
	shr.u32 	%r160, %r310, 3;
	cvt.u64.u32 	%rd82, %r160;
	mul.lo.s64 	%rd83, %rd82, %rd16;
	cvt.u64.u32 	%rd84, %r14;
	add.s64 	%rd85, %rd83, %rd84;
	shl.b64 	%rd86, %rd85, 2;
	add.s64 	%rd87, %rd1, %rd86;
	shl.b32 	%r161, %r310, 2;
	and.b32  	%r162, %r161, 28;
	ld.global.u32 	%r163, [%rd87];
	shr.u32 	%r311, %r163, %r162;
$L__BB0_17:
	and.b32  	%r312, %r311, 15;
$L__BB0_18:
	shl.b32 	%r164, %r312, %r307;
	or.b32  	%r323, %r164, %r323;
	add.s32 	%r307, %r307, 4;
	add.s32 	%r308, %r308, 1;
	setp.eq.s32 	%p15, %r308, 8;
	@%p15 bra 	$L__BB0_38;
	bra.uni 	$L__BB0_9;
$L__BB0_29:
	mov.u32 	%r318, 0;
	mov.u32 	%r323, %r318;
$L__BB0_30:
	.pragma "nounroll";
	shl.b32 	%r189, %r318, 3;
	and.b32  	%r190, %r189, 8;
	add.s32 	%r43, %r7, %r190;
	shl.b32 	%r191, %r318, 2;
	and.b32  	%r192, %r191, 8;
	shr.u32 	%r193, %r318, 2;
	add.s32 	%r194, %r10, %r193;
	add.s32 	%r320, %r194, %r192;
	setp.ge.u32 	%p23, %r43, %r102;
	setp.ge.u32 	%p24, %r320, %r103;
	or.pred  	%p25, %p23, %p24;
	mov.u32 	%r322, %r6;
	@%p25 bra 	$L__BB0_37;
	setp.eq.s64 	%p26, %rd55, 0;
	@%p26 bra 	$L__BB0_33;
	mul.wide.u32 	%rd102, %r320, 4;
	add.s64 	%rd103, %rd6, %rd102;
	ld.global.u32 	%r320, [%rd103];
$L__BB0_33:
	setp.eq.s32 	%p27, %r105, 0;
	@%p27 bra 	$L__BB0_35;
	cvt.u64.u32 	%rd104, %r320;
	mul.lo.s64 	%rd105, %rd104, %rd17;
	shr.u32 	%r195, %r43, 3;
	cvt.u64.u32 	%rd106, %r195;
	add.s64 	%rd107, %rd105, %rd106;
	shl.b64 	%rd108, %rd107, 2;
	add.s64 	%rd109, %rd1, %rd108;
	and.b32  	%r196, %r43, 6;
	shr.u32 	%r197, %r196, 1;
	shl.b32 	%r198, %r43, 2;
	and.b32  	%r199, %r198, 4;
	or.b32  	%r200, %r199, %r197;
	shl.b32 	%r201, %r200, 2;
	ld.global.u32 	%r202, [%rd109];
	shr.u32 	%r321, %r202, %r201;
	bra.uni 	$L__BB0_36;
$L__BB0_35:
	shr.u32 	%r203, %r320, 3;
	cvt.u64.u32 	%rd110, %r203;
	mul.lo.s64 	%rd111, %rd110, %rd16;
	cvt.u64.u32 	%rd112, %r43;
	add.s64 	%rd113, %rd111, %rd112;
	shl.b64 	%rd114, %rd113, 2;
	add.s64 	%rd115, %rd1, %rd114;
	shl.b32 	%r204, %r320, 2;
	and.b32  	%r205, %r204, 28;
	ld.global.u32 	%r206, [%rd115];
	shr.u32 	%r321, %r206, %r205;
$L__BB0_36:
	and.b32  	%r322, %r321, 15;
$L__BB0_37:
	shl.b32 	%r208, %r322, %r191;
	or.b32  	%r323, %r208, %r323;
	add.s32 	%r318, %r318, 1;
	setp.ne.s32 	%p28, %r318, 8;
	@%p28 bra 	$L__BB0_30;
	bra.uni 	$L__BB0_38;
$L__BB0_19:
	mov.u32 	%r313, 0;
	mov.u32 	%r323, %r313;
$L__BB0_20:
	.pragma "nounroll";
	shl.b32 	%r167, %r313, 3;
	and.b32  	%r168, %r167, 8;
	add.s32 	%r29, %r7, %r168;
	shl.b32 	%r169, %r313, 2;
	and.b32  	%r170, %r169, 8;
	shr.u32 	%r171, %r313, 2;
	add.s32 	%r172, %r10, %r171;
	add.s32 	%r315, %r172, %r170;
	setp.lt.u32 	%p16, %r29, %r102;
	setp.lt.u32 	%p17, %r315, %r103;
	and.pred  	%p18, %p16, %p17;
	@%p18 bra 	$L__BB0_22;
	bra.uni 	$L__BB0_21;
$L__BB0_22:
	setp.eq.s64 	%p20, %rd55, 0;
	@%p20 bra 	$L__BB0_24;
	mul.wide.u32 	%rd88, %r315, 4;
	add.s64 	%rd89, %rd6, %rd88;
	ld.global.u32 	%r315, [%rd89];
$L__BB0_24:
	setp.eq.s32 	%p21, %r105, 0;
	@%p21 bra 	$L__BB0_26;
	cvt.u64.u32 	%rd90, %r315;
	mul.lo.s64 	%rd91, %rd90, %rd17;
	shr.u32 	%r173, %r29, 3;
	cvt.u64.u32 	%rd92, %r173;
	add.s64 	%rd93, %rd91, %rd92;
	shl.b64 	%rd94, %rd93, 2;
	add.s64 	%rd95, %rd1, %rd94;
	and.b32  	%r174, %r29, 6;
	shr.u32 	%r175, %r174, 1;
	shl.b32 	%r176, %r29, 2;
	and.b32  	%r177, %r176, 4;
	or.b32  	%r178, %r177, %r175;
	shl.b32 	%r179, %r178, 2;
	ld.global.u32 	%r180, [%rd95];
	shr.u32 	%r316, %r180, %r179;
	bra.uni 	$L__BB0_27;
$L__BB0_21:
	selp.b32 	%r317, 8, %r6, %p16;
	bra.uni 	$L__BB0_28;
$L__BB0_26:
	shr.u32 	%r181, %r315, 3;
	cvt.u64.u32 	%rd96, %r181;
	mul.lo.s64 	%rd97, %rd96, %rd16;
	cvt.u64.u32 	%rd98, %r29;
	add.s64 	%rd99, %rd97, %rd98;
	shl.b64 	%rd100, %rd99, 2;
	add.s64 	%rd101, %rd1, %rd100;
	shl.b32 	%r182, %r315, 2;
	and.b32  	%r183, %r182, 28;
	ld.global.u32 	%r184, [%rd101];
	shr.u32 	%r316, %r184, %r183;
$L__BB0_27:
	and.b32  	%r317, %r316, 15;
$L__BB0_28:
	shl.b32 	%r305, %r313, 2;
	shl.b32 	%r186, %r317, %r305;
	or.b32  	%r323, %r186, %r323;
	add.s32 	%r313, %r313, 1;
	setp.eq.s32 	%p22, %r313, 8;
	@%p22 bra 	$L__BB0_38;
	bra.uni 	$L__BB0_20;
$L__BB0_38:
	cvt.u64.u32 	%rd116, %r306;
	add.s64 	%rd117, %rd28, %rd116;
	shl.b64 	%rd118, %rd117, 2;
	add.s64 	%rd119, %rd19, %rd118;
	st.global.u32 	[%rd119], %r323;
	add.s32 	%r306, %r306, 1;
	setp.lt.u32 	%p29, %r306, 4;
	@%p29 bra 	$L__BB0_6;
	add.s64 	%rd151, %rd151, %rd11;
	setp.lt.u64 	%p30, %rd151, %rd15;
	@%p30 bra 	$L__BB0_2;
$L__BB0_40:
	cvt.u64.u32 	%rd30, %r104;
	mul.lo.s64 	%rd120, %rd30, %rd13;
	shl.b64 	%rd31, %rd120, 4;
	setp.ge.u64 	%p31, %rd154, %rd31;
	@%p31 bra 	$L__BB0_86;
	cvt.u64.u32 	%rd32, %r102;
	setp.eq.s32 	%p32, %r107, 0;
	selp.b32 	%r57, 31744, 32640, %p32;
	shr.u32 	%r209, %r102, 3;
	cvt.u64.u32 	%rd33, %r209;
	setp.eq.s32 	%p33, %r107, %r99;
	@%p33 bra 	$L__BB0_73;
	bra.uni 	$L__BB0_42;
$L__BB0_73:
	shr.u64 	%rd44, %rd154, 4;
	and.b64  	%rd136, %rd44, 1152921500311879680;
	setp.eq.s64 	%p54, %rd136, 0;
	@%p54 bra 	$L__BB0_75;
	div.u64 	%rd158, %rd44, %rd30;
	mul.lo.s64 	%rd137, %rd158, %rd30;
	sub.s64 	%rd159, %rd44, %rd137;
	bra.uni 	$L__BB0_76;
$L__BB0_75:
	cvt.u32.u64 	%r273, %rd30;
	cvt.u32.u64 	%r274, %rd44;
	div.u32 	%r275, %r274, %r273;
	mul.lo.s32 	%r276, %r275, %r273;
	sub.s32 	%r277, %r274, %r276;
	cvt.u64.u32 	%rd158, %r275;
	cvt.u64.u32 	%rd159, %r277;
$L__BB0_76:
	cvt.u32.u64 	%r280, %rd154;
	cvt.u32.u64 	%r281, %rd158;
	shl.b32 	%r282, %r281, 4;
	shl.b32 	%r283, %r280, 3;
	and.b32  	%r284, %r283, 8;
	and.b32  	%r285, %r280, 14;
	shr.u32 	%r286, %r285, 1;
	or.b32  	%r287, %r284, %r286;
	or.b32  	%r85, %r287, %r282;
	setp.ge.u32 	%p55, %r85, %r102;
	mov.u32 	%r334, 0;
	mov.u32 	%r335, %r334;
	@%p55 bra 	$L__BB0_83;
	mul.lo.s64 	%rd138, %rd159, %rd32;
	cvt.u64.u32 	%rd139, %r85;
	add.s64 	%rd140, %rd138, %rd139;
	shl.b64 	%rd141, %rd140, 1;
	add.s64 	%rd142, %rd4, %rd141;
	ld.global.u16 	%r334, [%rd142];
	and.b32  	%r288, %r334, 32767;
	setp.lt.u32 	%p56, %r288, %r57;
	@%p56 bra 	$L__BB0_79;
	ld.global.u32 	%r289, [%rd10];
	or.b32  	%r290, %r289, 1;
	st.global.u32 	[%rd10], %r290;
$L__BB0_79:
	setp.eq.s64 	%p57, %rd53, 0;
	mov.u32 	%r335, 8;
	@%p57 bra 	$L__BB0_81;
	setp.eq.s32 	%p58, %r105, 0;
	shr.u32 	%r292, %r85, 3;
	cvt.u64.u32 	%rd143, %r292;
	mul.lo.s64 	%rd144, %rd159, %rd33;
	add.s64 	%rd145, %rd144, %rd143;
	shl.b64 	%rd146, %rd145, 2;
	add.s64 	%rd147, %rd3, %rd146;
	ld.global.u32 	%r293, [%rd147];
	add.s32 	%r294, %r293, %r106;
	and.b32  	%r295, %r85, 7;
	shr.u32 	%r296, %r295, 1;
	shl.b32 	%r297, %r85, 2;
	and.b32  	%r298, %r297, 4;
	or.b32  	%r299, %r298, %r296;
	selp.b32 	%r300, %r295, %r299, %p58;
	shl.b32 	%r301, %r300, 2;
	shr.u32 	%r302, %r294, %r301;
	and.b32  	%r335, %r302, 15;
$L__BB0_81:
	setp.eq.s32 	%p59, %r335, 8;
	setp.ne.s64 	%p60, %rd58, 0;
	or.pred  	%p61, %p60, %p59;
	@%p61 bra 	$L__BB0_83;
	ld.global.u32 	%r303, [%rd10];
	or.b32  	%r304, %r303, 2;
	st.global.u32 	[%rd10], %r304;
$L__BB0_83:
	shl.b64 	%rd148, %rd154, 1;
	add.s64 	%rd149, %rd7, %rd148;
	st.global.u16 	[%rd149], %r334;
	setp.eq.s64 	%p62, %rd58, 0;
	@%p62 bra 	$L__BB0_85;
	add.s64 	%rd150, %rd9, %rd154;
	st.global.u8 	[%rd150], %r335;
$L__BB0_85:
	add.s64 	%rd154, %rd154, %rd11;
	setp.lt.u64 	%p63, %rd154, %rd31;
	@%p63 bra 	$L__BB0_73;
	bra.uni 	$L__BB0_86;
$L__BB0_42:
	setp.eq.s32 	%p34, %r99, 0;
	selp.b32 	%r58, 31744, 32640, %p34;
$L__BB0_43:
	shr.u64 	%rd35, %rd154, 4;
	and.b64  	%rd121, %rd35, 1152921500311879680;
	setp.eq.s64 	%p35, %rd121, 0;
	@%p35 bra 	$L__BB0_45;
	div.u64 	%rd155, %rd35, %rd30;
	mul.lo.s64 	%rd122, %rd155, %rd30;
	sub.s64 	%rd156, %rd35, %rd122;
	bra.uni 	$L__BB0_46;
$L__BB0_45:
	cvt.u32.u64 	%r210, %rd30;
	cvt.u32.u64 	%r211, %rd35;
	div.u32 	%r212, %r211, %r210;
	mul.lo.s32 	%r213, %r212, %r210;
	sub.s32 	%r214, %r211, %r213;
	cvt.u64.u32 	%rd155, %r212;
	cvt.u64.u32 	%rd156, %r214;
$L__BB0_46:
	cvt.u32.u64 	%r217, %rd154;
	cvt.u32.u64 	%r218, %rd155;
	shl.b32 	%r219, %r218, 4;
	shl.b32 	%r220, %r217, 3;
	and.b32  	%r221, %r220, 8;
	and.b32  	%r222, %r217, 14;
	shr.u32 	%r223, %r222, 1;
	or.b32  	%r224, %r221, %r223;
	or.b32  	%r59, %r224, %r219;
	setp.ge.u32 	%p36, %r59, %r102;
	mov.u32 	%r328, 0;
	mov.u32 	%r332, %r328;
	@%p36 bra 	$L__BB0_70;
	mul.lo.s64 	%rd123, %rd156, %rd32;
	cvt.u64.u32 	%rd124, %r59;
	add.s64 	%rd125, %rd123, %rd124;
	shl.b64 	%rd126, %rd125, 1;
	add.s64 	%rd127, %rd4, %rd126;
	ld.global.u16 	%r328, [%rd127];
	and.b32  	%r225, %r328, 32767;
	setp.ge.u32 	%p38, %r225, %r57;
	mov.pred 	%p64, 0;
	@%p38 bra 	$L__BB0_64;
	and.b32  	%r61, %r328, 32768;
	@%p34 bra 	$L__BB0_55;
	shr.u32 	%r226, %r328, 10;
	and.b32  	%r326, %r226, 31;
	and.b32  	%r324, %r328, 1023;
	setp.ne.s32 	%p40, %r326, 0;
	@%p40 bra 	$L__BB0_54;
	setp.eq.s32 	%p41, %r324, 0;
	mov.u32 	%r328, %r61;
	@%p41 bra 	$L__BB0_63;
	mov.u32 	%r326, 1;
$L__BB0_52:
	shl.b32 	%r66, %r324, 1;
	add.s32 	%r326, %r326, -1;
	and.b32  	%r228, %r324, 512;
	setp.eq.s32 	%p42, %r228, 0;
	mov.u32 	%r324, %r66;
	@%p42 bra 	$L__BB0_52;
	and.b32  	%r324, %r66, 1022;
$L__BB0_54:
	shl.b32 	%r229, %r326, 10;
	add.s32 	%r230, %r229, 114688;
	or.b32  	%r231, %r230, %r324;
	shr.u32 	%r232, %r324, 3;
	and.b32  	%r233, %r232, 1;
	add.s32 	%r234, %r231, %r233;
	add.s32 	%r235, %r234, 3;
	shr.u32 	%r236, %r235, 3;
	or.b32  	%r328, %r236, %r61;
	bra.uni 	$L__BB0_63;
$L__BB0_55:
	shr.u32 	%r237, %r328, 7;
	and.b32  	%r72, %r237, 255;
	and.b32  	%r73, %r328, 127;
	setp.gt.u32 	%p43, %r72, 142;
	@%p43 bra 	$L__BB0_62;
	bra.uni 	$L__BB0_56;
$L__BB0_62:
	or.b32  	%r328, %r61, 31744;
	bra.uni 	$L__BB0_63;
$L__BB0_56:
	setp.gt.u32 	%p44, %r72, 112;
	@%p44 bra 	$L__BB0_61;
	bra.uni 	$L__BB0_57;
$L__BB0_61:
	shl.b32 	%r252, %r72, 10;
	add.s32 	%r253, %r252, -114688;
	shl.b32 	%r254, %r73, 3;
	or.b32  	%r255, %r254, %r61;
	or.b32  	%r328, %r255, %r253;
	bra.uni 	$L__BB0_63;
$L__BB0_57:
	setp.lt.u32 	%p45, %r72, 101;
	mov.u32 	%r328, %r61;
	@%p45 bra 	$L__BB0_63;
	or.b32  	%r74, %r73, 128;
	setp.gt.u32 	%p46, %r72, 109;
	@%p46 bra 	$L__BB0_60;
	bra.uni 	$L__BB0_59;
$L__BB0_60:
	add.s32 	%r250, %r72, -110;
	shl.b32 	%r251, %r74, %r250;
	or.b32  	%r328, %r251, %r61;
	bra.uni 	$L__BB0_63;
$L__BB0_59:
	mov.u32 	%r238, 110;
	sub.s32 	%r239, %r238, %r72;
	mov.u32 	%r240, 109;
	sub.s32 	%r241, %r240, %r72;
	mov.u32 	%r242, 1;
	shl.b32 	%r243, %r242, %r241;
	shr.u32 	%r244, %r74, %r239;
	and.b32  	%r245, %r244, 1;
	add.s32 	%r246, %r74, %r243;
	add.s32 	%r247, %r246, %r245;
	add.s32 	%r248, %r247, -1;
	shr.u32 	%r249, %r248, %r239;
	or.b32  	%r328, %r249, %r61;
$L__BB0_63:
	and.b32  	%r256, %r328, 32767;
	setp.lt.u32 	%p64, %r256, %r58;
$L__BB0_64:
	@%p64 bra 	$L__BB0_66;
	ld.global.u32 	%r257, [%rd10];
	or.b32  	%r258, %r257, 1;
	st.global.u32 	[%rd10], %r258;
$L__BB0_66:
	setp.eq.s64 	%p47, %rd53, 0;
	mov.u32 	%r332, 8;
	@%p47 bra 	$L__BB0_68;
	setp.eq.s32 	%p48, %r105, 0;
	shr.u32 	%r260, %r59, 3;
	cvt.u64.u32 	%rd128, %r260;
	mul.lo.s64 	%rd129, %rd156, %rd33;
	add.s64 	%rd130, %rd129, %rd128;
	shl.b64 	%rd131, %rd130, 2;
	add.s64 	%rd132, %rd3, %rd131;
	ld.global.u32 	%r261, [%rd132];
	add.s32 	%r262, %r261, %r106;
	and.b32  	%r263, %r59, 7;
	shr.u32 	%r264, %r263, 1;
	shl.b32 	%r265, %r59, 2;
	and.b32  	%r266, %r265, 4;
	or.b32  	%r267, %r266, %r264;
	selp.b32 	%r268, %r263, %r267, %p48;
	shl.b32 	%r269, %r268, 2;
	shr.u32 	%r270, %r262, %r269;
	and.b32  	%r332, %r270, 15;
$L__BB0_68:
	setp.eq.s32 	%p49, %r332, 8;
	setp.ne.s64 	%p50, %rd58, 0;
	or.pred  	%p51, %p50, %p49;
	@%p51 bra 	$L__BB0_70;
	ld.global.u32 	%r271, [%rd10];
	or.b32  	%r272, %r271, 2;
	st.global.u32 	[%rd10], %r272;
$L__BB0_70:
	shl.b64 	%rd133, %rd154, 1;
	add.s64 	%rd134, %rd7, %rd133;
	st.global.u16 	[%rd134], %r328;
	setp.eq.s64 	%p52, %rd58, 0;
	@%p52 bra 	$L__BB0_72;
	add.s64 	%rd135, %rd9, %rd154;
	st.global.u8 	[%rd135], %r332;
$L__BB0_72:
	add.s64 	%rd154, %rd154, %rd11;
	setp.lt.u64 	%p53, %rd154, %rd31;
	@%p53 bra 	$L__BB0_43;
$L__BB0_86:
	ret;
}
)PTX";
// clang-format on

}  // namespace cubind
